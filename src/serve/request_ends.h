// RequestEnds: how requests end, and who is told: the client, the observer, the journal, the
// receipts, and the history of answers.
//
// What the slot holds stays there: it was computed, and may be continued.
//
// The scheduler's thread; receipts() may be read on any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/cache_journal.h"
#include "cache/receipt.h"
#include "cache/token_history.h"
#include "serve/loop_core.h"
#include "serve/paced_work.h"
#include "serve/speculator.h"

namespace holdfast::serve {

// How a generation ends, and why.
struct Ending {
  FinishReason reason = FinishReason::kStopToken;
  std::string stop_string;
};

class RequestEnds {
 public:
  RequestEnds(LoopCore& core, PacedWork& paced, Speculator& speculator,
              const SchedulerParts& parts);

  void finish(Slot& slot, Ending ending);
  void fail(Slot& slot, const Error& error);
  // It never began.
  void drop(const Job& job, const Error& error);
  // Where the request ended, if nothing else has begun there since.
  [[nodiscard]] std::optional<SlotId> last_on(const std::string& request_id) const;
  // The answer to this request called a tool: its client will soon be back.
  void note_tool_call(const std::string& request_id);
  // Forgets all answers and receipts; or those of one tenant.
  void forget_all();
  void forget(SpaceKey space, const std::string& tenant);

  [[nodiscard]] cache::ReceiptLog& receipts() { return receipts_; }
  [[nodiscard]] const cache::ReceiptLog& receipts() const { return receipts_; }

 private:
  // Which request ended last on a slot, and its run.
  struct LastRequest {
    std::string id;
    std::uint64_t run = 0;
  };

  [[nodiscard]] std::unique_ptr<Job> take_job(Slot& slot);
  void tell_failure(const Job& job, const Error& error);
  void note_in_journal(const Job& job, cache::RequestEnd end);
  void add_up(const Job& job);
  void add_up_session(const Job& job);

  LoopCore& core_;
  PacedWork& paced_;
  Speculator& speculator_;
  cache::TokenHistory* const history_;  // may be null
  cache::CacheJournal* const journal_;  // may be null
  cache::ReceiptLog receipts_;
  std::vector<LastRequest> last_;  // by slot
};

}  // namespace holdfast::serve
