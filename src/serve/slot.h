// Slot: one of the engine's sequences, what it holds and who uses it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "env/clock.h"
#include "serve/request.h"
#include "serve/text_assembler.h"
#include "state/grid.h"

namespace holdfast {

// A request at work on a slot.
struct Job {
  Job(GenerateRequest r, Clock::TimePoint now)
      : request(std::move(r)), assembler(request.stops), submitted(now) {}

  [[nodiscard]] TokenPos prompt_length() const { return length_of(request.prompt); }

  GenerateRequest request;
  TextAssembler assembler;
  Clock::TimePoint submitted;
  Clock::TimePoint started{};      // left the queue
  Clock::TimePoint first_token{};  // the prompt is read
  Timings timings;
  std::vector<TokenPos> cuts;        // the prompt's grid
  std::optional<Token> next_token;   // sampled, not yet computed
  std::vector<TokenReport> reports;  // tokens whose text is still held back
};

// Where a request may begin on a slot: its first `keep` tokens are already
// there and need not be computed again.
struct Continuation {
  TokenPos keep = 0;
};

struct Slot {
  SlotId id;
  // The tokens that the engine's live state was computed from.
  Tokens tokens;
  // Tokens [0, exact) were computed as prefill up to a cut of the grid: the same
  // bits that a cold run would have. Beyond lie a partial chunk and decoded tokens.
  TokenPos exact = 0;
  std::unique_ptr<Job> job;     // null: idle
  std::uint64_t last_used = 0;  // by count of admissions

  [[nodiscard]] bool idle() const { return job == nullptr; }
  [[nodiscard]] bool prefilling() const {
    return job != nullptr && length_of(tokens) < job->prompt_length();
  }
  [[nodiscard]] TokenPos prefill_left() const { return job->prompt_length() - length_of(tokens); }
  [[nodiscard]] bool decoding() const { return job != nullptr && job->next_token.has_value(); }
};

// How much of `prompt` the slot's live state saves. The last prompt token is
// always computed, because its logits are needed.
//
// Kept prefill state ends at a cut of the grid, so that what follows is chunked
// as in a cold run. Decoded state differs from prefill state in its last bits;
// it is kept only when `deterministic` is off.
[[nodiscard]] Continuation find_continuation(const Engine& engine, const Slot& slot,
                                             TokenSpan prompt,
                                             const std::vector<TokenPos>& prompt_cuts,
                                             bool deterministic);

}  // namespace holdfast
