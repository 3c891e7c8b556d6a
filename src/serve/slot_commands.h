// SlotCommands: what is asked of a slot by itself - save, restore, erase; and of those that write,
// to end their thoughts.
//
// Each is done at the beginning of the first round in which the slot is idle, before another
// request takes it; the last one at once.
//
// Invariants, verified by check():
//   SLOTCMD-1  at most kWaitingMax commands wait, because each may hold a whole state
//
// save(), restore(), erase(), end_thoughts() and limits(): any thread. The rest: the scheduler's.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cache/slot_file.h"
#include "cache/slot_state.h"
#include "engine/companion.h"
#include "serve/answer.h"
#include "serve/inbox.h"
#include "serve/loop_core.h"

namespace holdfast::serve {

// Which slot is meant, and by whom.
struct SlotAsk {
  SlotId slot;
  SpaceKey space;  // the asker's: another's conversation is not touched
  // Set once nobody waits for the answer; then nothing is done, unless it has begun.
  std::shared_ptr<const std::atomic<bool>> unwanted;
};

struct SlotCopy {
  cache::SlotState state;
  double ms = 0.0;  // that it took; the slot may have been waited for
};
struct SlotBrought {
  TokenPos tokens = 0;
  double ms = 0.0;
};

class SlotCommands {
 public:
  static constexpr std::size_t kWaitingMax = 32;

  SlotCommands(LoopCore& core, Inbox& inbox, const engine::Companion* companion);

  // Copies out what a slot holds. kNotFound where that is nothing, or another's.
  void save(SlotAsk ask, Answer<SlotCopy> answer);
  // Gives a slot this state. What it held goes into memory, no matter whose it was, as when a
  // request takes the slot. The answer is how many tokens it now holds; an Error says whether
  // it holds what it held, or nothing.
  void restore(SlotAsk ask, std::shared_ptr<const cache::SlotState> state,
               Answer<SlotBrought> answer);
  // Empties a slot; the answer is how many tokens it held. kNotFound: they are another's.
  void erase(SlotAsk ask, Answer<TokenPos> answer);
  // Makes an answer that is being written go on from its thoughts to its text. Told is whether it
  // does; kNotFound: none of this response's and tenant's is being written.
  void end_thoughts(const std::string& response, const std::string& tenant, Answer<bool> answer);
  // What states may be restored.
  [[nodiscard]] cache::SlotLimits limits(SpaceKey space) const;

  // Does what is asked of idle slots.
  void run();
  void refuse_all(const Error& error);
  [[nodiscard]] bool empty() const { return commands_.empty(); }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  // Called with an Error it has been refused.
  struct Command {
    SlotAsk ask;
    std::function<void(const Error*)> act;
  };

  void enqueue(Command command);
  [[nodiscard]] Result<SlotCopy> copy_slot(const SlotAsk& ask);
  [[nodiscard]] Result<TokenPos> empty_slot(const SlotAsk& ask);
  [[nodiscard]] Result<SlotBrought> bring_to_slot(const SlotAsk& ask,
                                                  const cache::SlotState& state);
  [[nodiscard]] std::optional<Error> unlike_ours(const cache::SlotState& state) const;

  LoopCore& core_;
  Inbox& inbox_;
  const ByteCount state_bytes_max_;      // of a file of one slot
  std::deque<Command> commands_;         // for slots that are at work
  std::atomic<std::size_t> waiting_{0};  // those on their way here included
};

}  // namespace holdfast::serve
