// CacheJournal: sees everything that decides what the cache does, in the order in which it happens.
//
//   scheduler --call--> StateCache --question--> engine, companion, clock, tier below
//                          |   <---answer-----------'
//                          `-- both are shown to the journal, where there is one
//
// The cache's answers follow from its options, from the calls, and from what the world answers
// inside of them; so whoever has all of that can have the same cache again, elsewhere and without
// the model (record/recorder.h, record/replayer.h). Without a journal this costs a test of a null
// pointer for each call.
//
//   watch      once: the world as the cache is to see it from now on
//   a call     opened by the function of its name, over with close(); nothing is nested
//   finished   a request is over; its receipt is final
//
// Every function does nothing unless it is overridden. The engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/hash.h"
#include "cache/cold_tier.h"
#include "cache/receipt.h"
#include "cache/slot_state.h"
#include "engine/companion.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "plan/start_plan.h"

namespace holdfast::cache {

struct CacheOptions;
struct CacheStatus;
struct Prompt;
struct Awaited;

// What the cache asks. Companion and tier below may be null.
struct CacheWorld {
  engine::Engine* engine = nullptr;
  const env::Clock* clock = nullptr;
  engine::Companion* companion = nullptr;
  ColdTier* lower = nullptr;
};

// When the copies of a checkpoint are made: with the chunk that it lies behind, or by
// SlotGrowth::copy_postponed.
enum class Copies : std::uint8_t { kNow, kLater };

// How a request ended.
enum class RequestEnd : std::uint8_t {
  kStopToken,
  kStopString,
  kMaxTokens,
  kContextFull,
  kCancelled,
  kTimeout,
  kFailed,
};
[[nodiscard]] const char* request_end_name(RequestEnd end);

// A request that is over, and was begun.
struct FinishedRequest {
  std::uint64_t number = 0;  // Prompt::number
  RequestEnd end = RequestEnd::kStopToken;
  const Receipt* receipt = nullptr;
  TokenPos answer_tokens = 0;
  double answer_ms = 0.0;
  // The tokens of the receipt's difference as text, where wants_text().
  std::string known_text;
  std::string sent_text;
};

class CacheJournal {
 public:
  virtual ~CacheJournal() = default;

  virtual CacheWorld watch(CacheWorld world, const CacheOptions&) { return world; }
  // Whether bytes are what their maker made; asked where a state could not be brought back.
  virtual bool intact(std::span<const std::byte> bytes, std::uint64_t checksum) {
    return hash_bytes(bytes) == checksum;
  }
  virtual void close() {}

  // -- calls of the cache, in the order in which a request makes them ---------------
  virtual void plan(const Prompt&, std::span<const SlotId>) {}
  virtual void planned(const plan::StartPlan&) {}
  virtual void worth_waiting_for(const Prompt&) {}
  virtual void waits_for(const std::optional<Awaited>&) {}
  virtual void ask_below(const Prompt&) {}
  // What has come, if anything.
  virtual void go_on(const Prompt&, const tier::StoreMatch*, const Brought*) {}
  virtual void begin(const Prompt&, SlotId, const Receipt&) {}
  virtual void before_chunk(SlotId) {}
  virtual void prefilled(SlotId, TokenSpan, engine::LogitsOf, Copies) {}
  virtual void copy_postponed(SlotId, ByteCount) {}
  virtual void decoded(SlotId, TokenSpan) {}
  virtual void emptied(SlotId) {}
  virtual void end(SlotId) {}
  virtual void called_tool(SlotId, std::uint64_t) {}
  virtual void note_prefill_speed(TokenPos, double) {}
  virtual void copy_out(SlotId) {}
  virtual void bring_in(SlotId, const SlotState&) {}
  virtual void erase(SlotId) {}
  virtual void forget(SlotId) {}
  virtual void keep_idle() {}
  virtual void clear(const std::optional<SpaceKey>&) {}  // nothing: all spaces
  virtual void drop(tree::NodeId /*tip*/) {}
  virtual void distrust() {}

  // -- by the scheduler ----------------------------------------------------------------
  [[nodiscard]] virtual bool wants_text() const { return false; }
  virtual void finished(const FinishedRequest&, const CacheStatus&) {}
  // A request that never began is gone from the queue.
  virtual void dropped(std::uint64_t /*number*/, RequestEnd) {}
};

// One call, from here to the end of the scope.
class JournaledCall {
 public:
  template <typename Open>
  JournaledCall(CacheJournal* journal, Open open) : journal_(journal) {
    if (journal_ != nullptr) open(*journal_);
  }
  ~JournaledCall() {
    if (journal_ != nullptr) journal_->close();
  }
  JournaledCall(const JournaledCall&) = delete;
  JournaledCall& operator=(const JournaledCall&) = delete;

 private:
  CacheJournal* const journal_;
};

}  // namespace holdfast::cache
