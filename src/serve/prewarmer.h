// Prewarmer: reads answers once more, as the next prompt of their conversation will show them,
// while nobody waits.
//
//   sampled      ...<assistant> <think> t t t t </think> a a a a        what the slot holds
//   next prompt  ...<assistant> a a a a <end> | <user> u u u u
//                               `- read in idle time -'
//
// What is sampled is rarely what history shows: templates leave thoughts out, drop the empty
// thought that opened the answer, and close the turn in their own words. Without this the answer
// is read when the next prompt comes, and its client waits. Where prompts are exact nothing decoded
// is ever continued, so there the answer is read in any case.
//
//   an answer ends --offer--> waits --idle--> asks for the prompt --take--> waits --idle--> is read
//                                                                             ^               |
//                                                                             '- a request came
//
// An answer is read on the slot that wrote it, in pieces of about the time that may lie between
// two tokens of others (where prompts are exact: chunks of the grid). A request that arrives waits
// for one piece at most; what was read stays in the slot, and reading goes on in the next idle
// time. It is given up once the slot holds something else.
//
// Invariants, verified by check():
//   PREWARM-1  an answer that is known here was the last one on its slot, so each slot has one at
//              most
//   PREWARM-2  outside of step() .. yield() the cache knows of no request of ours
// and by prewarmer_test.cc:
//   PREWARM-3  of a prompt nothing is read but the answer with its header, and at most one grid
//   step
//              before them
//   PREWARM-4  nothing is read twice
//
// The scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/prompt.h"
#include "cache/receipt.h"
#include "serve/loop_core.h"
#include "serve/piece_size.h"
#include "serve/prewarm.h"
#include "serve/prewarm_log.h"
#include "serve/request_ends.h"

namespace holdfast::serve {

// An answer that will be read ahead, once its prompt is known.
struct AnswerToRead {
  std::string request;
  std::uint64_t run = 0;          // of the slot; another number: it holds something else
  std::function<void()> prepare;  // null: the prompt was asked for
  std::unique_ptr<const PrewarmPrompt> next;
  cache::Prompt prompt = {};  // refers to `next`
  bool begun = false;
};

class Prewarmer {
 public:
  // `journal` may be null.
  Prewarmer(LoopCore& core, const RequestEnds& ends, cache::CacheJournal* journal);

  // Nothing happens where another request has the answer's slot already.
  void offer(PrewarmOffer offer);
  // The prompt that was asked for. Of an answer that is not known any more: nothing.
  void take(PrewarmPrompt prompt);

  [[nodiscard]] bool has_work();
  // Asks for a prompt, or begins with one, or reads a piece.
  // REQUIRES: no request is at work.
  void step();
  // Somebody waits: the slot is idle again.
  void yield();

  // Of the first `restored` tokens of a prompt, those that were read here for it. Each answer is
  // counted once.
  [[nodiscard]] TokenPos claim(SpaceKey space, TokenSpan prompt, TokenPos restored);
  [[nodiscard]] const PrewarmCounts& counts() const { return counts_; }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] bool is_current(SlotId slot) const;
  [[nodiscard]] std::optional<SlotId> next();
  void begin(SlotId slot);
  [[nodiscard]] bool worth_reading(SlotId slot, TokenPos reused) const;
  void read_piece();
  void leave_slot(cache::RequestEnd end);

  LoopCore& core_;
  const RequestEnds& ends_;
  cache::CacheJournal* const journal_;
  std::vector<std::unique_ptr<AnswerToRead>> answers_;  // by slot; null: none
  std::optional<SlotId> reading_;                       // whose answer is being read
  TokenPos began_at_ = 0;                               // of its prompt
  cache::Receipt receipt_;                              // of this reading
  PieceSize pieces_;
  PrewarmLog log_;
  PrewarmCounts counts_;
};

}  // namespace holdfast::serve
