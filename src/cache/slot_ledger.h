// SlotLedger: what each slot holds, and how far the request at work there has come.
//
//   tokens        [ p p p p p p p p p p | a a a )           in the engine's slot
//   stored_upto    --------------^                          of them memory has a state
//   exact          ------------------^                      of them have the bits of a cold run
//   prompt        [ p p p p p p p p p p p p p p p p )       of the request at work
//   due                                    ^     ^          checkpoints still to be taken
//
// Invariants, verified by check():
//   SLOT-1  a slot's tokens are as many as the engine says it holds, and each has a key
//   SLOT-2  `exact` and `stored_upto` lie within the slot's tokens
//   SLOT-3  checkpoints still to be taken lie beyond the slot's tokens, ascending; one that was
//           postponed lies at their end
//
// One owning thread, that of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/prompt.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "plan/placement.h"
#include "tree/token_tree.h"

namespace holdfast::cache {

// A checkpoint at the end of a slot's tokens that is still to be taken.
struct Postponed {
  plan::Checkpoint checkpoint;
  TokenPos rows = 0;  // rows of this many tokens were copied ahead
  LogitsPtr logits;   // of the last token, where the prompt ends here
};

struct LiveSlot {
  SpaceKey space;
  Tokens tokens;
  Tokens keys;  // where prompts are exact: one for each token; else none
  // Where prompts are exact, tokens [0, exact) were computed chunk by chunk of the grid and have
  // the bits that a cold run would have. Beyond lie a partial chunk and decoded tokens. Otherwise
  // less may be known of them: chunks that were read as one do not count.
  TokenPos exact = 0;
  TokenPos stored_upto = 0;  // memory was given a state of this many tokens
  tree::Filed filed;         // as many of the keys are in memory's tree, and where
  std::uint64_t run = 0;     // counts the requests that began here, over all slots
  bool tool_call = false;    // its answer called a tool
  bool newcomer = false;     // most of it had to be read
  bool one_off = false;      // nobody is likely to come back to it (plan/one_offs.h)
  TokenPos own_from = 0;     // behind this place of its latest prompt it goes on in its own way
  TokenPos offered = 0;      // of this much, memory was given a state while idle, or declined
  // While a request is at work:
  TokenSpan prompt;
  TokenSpan prompt_keys;
  std::span<const TokenPos> grid;     // the prompt's
  std::vector<TokenPos> cuts;         // where it is cut this time, ascending
  std::vector<plan::Checkpoint> due;  // still to be taken, ascending
  std::vector<TokenPos> due_in_slot;  // of them not offered to memory, ascending
  std::optional<Postponed> postponed;
  TokenPos last_checkpoint = 0;
  EndKey end;                     // the prompt's
  env::Clock::TimePoint began{};  // reading
  double store_ms = 0.0;          // of the time since then, spent on checkpoints

  [[nodiscard]] bool idle() const { return prompt.empty(); }
  [[nodiscard]] TokenPos length() const { return length_of(tokens); }
};

class SlotLedger {
 public:
  SlotLedger(const engine::Engine& engine, bool exact_prompts);

  [[nodiscard]] const LiveSlot& operator[](SlotId slot) const;
  [[nodiscard]] LiveSlot& operator[](SlotId slot);
  [[nodiscard]] std::size_t count() const { return slots_.size(); }
  // Every slot, in order.
  [[nodiscard]] std::vector<SlotId> all() const;
  // What the slot's states are filed under.
  [[nodiscard]] TokenSpan keys(const LiveSlot& slot) const {
    return exact_prompts_ ? slot.keys : slot.tokens;
  }
  // Nothing: no slot holds all of these.
  [[nodiscard]] std::optional<int> holding(SpaceKey space, TokenSpan keys) const;

  // The request that takes the slot, or whoever gives it another state, gets a number of its own.
  void begin_run(SlotId slot) { (*this)[slot].run = ++runs_; }
  void append(SlotId slot, TokenSpan tokens, TokenSpan keys);
  // The slot holds no more than this many tokens.
  void shorten(SlotId slot, TokenPos length);
  // The request is over. What the slot holds stays.
  void end_request(SlotId slot);

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  const engine::Engine& engine_;
  const bool exact_prompts_;
  std::vector<LiveSlot> slots_;
  std::uint64_t runs_ = 0;
};

}  // namespace holdfast::cache
