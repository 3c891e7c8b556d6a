// Decoding: how answers are written - one step for all slots that write, the verdict on each draft,
// and what follows from it.
//
//   sampled t0, drafted d1 d2 d3  --> one batch, four rows of logits
//   sample row 0: d1?  yes  row 1: d2?  yes  row 2: x  (not d3)
//   keep t0 d1 d2, take d3 back;  the next step begins with x
//
// Taking back: rows are truncated. Where a state cannot be truncated, the state before the step is
// loaded, and what was right of the step is computed again with the next one. Where even that
// fails, all of it is read again: time, never tokens. Where all is exact (--exact all) the request
// fails then, because what is read again has other bits than what was written.
//
// Batches: a step's batch holds neighbouring slots with equally many tokens, because the library
// splits everything else, and a split batch may move another slot's rollback planes
// (llama_engine.h, LLAMA-4). So the slots of a step draft equally long or not at all; shorter
// drafts are filled up where one batch is cheaper than several, but not where a state would have to
// be brought back for it: what fills up is always wrong.
//
// Where all is exact there are drafts only if asked for. Every step then has the same number of
// rows, drafted or filled in, so that no token's bits depend on what was guessed.
//
// Some models, instead of ending their turn after a tool call, write line breaks until something
// stops them. After kBlankTokensMax tokens in a row that show nothing the API is asked whether what
// came before is a complete call; if it is, the answer ends as if the model had ended it.
//
// Job::answer is written here, but for the stored logits that a start leaves there and for what the
// Speculator notes of the companion. Job::draft is filled by the Speculator and judged here.
//
// The scheduler's thread.
#pragma once

#include <optional>
#include <random>
#include <span>
#include <string>

#include "serve/loop_core.h"
#include "serve/request_ends.h"
#include "serve/speculator.h"

namespace holdfast::serve {

class Decoding {
 public:
  static constexpr TokenPos kBlankTokensMax = 512;

  Decoding(LoopCore& core, RequestEnds& ends, Speculator& speculator)
      : core_(core), ends_(ends), speculator_(speculator) {}

  // One step for all who write.
  // REQUIRES: somebody does, and nothing is being read.
  void step();
  // The slot has read its prompt: the first token is sampled from the logits there.
  void begin_answer(Slot& slot);

 private:
  // What came of a slot's step: how much of the draft was right, and what follows.
  struct Verdict {
    TokenPos accepted = 0;
    Token next = 0;
    Tokens undone;  // right, and yet to be computed again
    std::optional<Ending> ending;
    std::optional<Error> error;
  };

  void step_together(std::span<Slot* const> slots);
  void note_gap(Job& job, env::Clock::TimePoint now);
  [[nodiscard]] Verdict sample_rows(Slot& slot, TokenPos first_row, TokenPos computed);
  [[nodiscard]] Result<engine::Sampled> sample_row(Slot& slot, TokenPos row);
  [[nodiscard]] static Result<void> learn(Job& job, const engine::Sampled& sampled, bool pretended);
  // Whether a drafted token is taken whatever the model says; nothing: the model decides.
  [[nodiscard]] std::optional<bool> pretend(Job& job, std::size_t rank) const;
  [[nodiscard]] std::optional<Ending> take_token(Job& job, const engine::Sampled& sampled,
                                                 TokenPos computed);
  [[nodiscard]] bool stays_blank_after_call(const Job& job) const;
  void keep_accepted(Slot& slot, Verdict& verdict);
  void take_back(Slot& slot, Verdict& verdict);
  [[nodiscard]] Result<void> read_again(Slot& slot, TokenSpan tokens);
  void conclude(Slot& slot, Verdict& verdict);
  void send_text(Job& job, std::string text);

  LoopCore& core_;
  RequestEnds& ends_;
  Speculator& speculator_;
};

}  // namespace holdfast::serve
