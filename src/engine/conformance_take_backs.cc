// Tokens that are taken back, as rejected drafts are.
#include <optional>
#include <utility>

#include "engine/conformance_checks.h"

namespace holdfast::engine {

namespace {

// How many of the last tokens of each slot's step are wrong, and taken back.
struct WrongTokens {
  std::vector<int> slots;
  std::vector<TokenPos> counts;
};

// The slot's next tokens, the last `wrong` of them others than the stream's. Two variants differ in
// all wrong tokens.
Tokens guessed(const EngineProbe& probe, TokenPos at, TokenPos wrong, int variant) {
  const TokenSpan right = probe.tokens(at, at + probe.rows());
  Tokens guess(right.begin(), right.end());
  const auto vocabulary = static_cast<Token>(probe.engine().logits_count());
  for (std::size_t i = guess.size() - static_cast<std::size_t>(wrong); i < guess.size(); ++i) {
    guess[i] = (guess[i] + 1 + variant) % vocabulary;
  }
  return guess;
}

// Where the slot stands when its wrong tokens have been taken back.
TokenPos kept_length(const EngineProbe& probe, const WrongTokens& wrong, std::size_t i) {
  return PlainWay::length_in(wrong.slots[i]) + probe.rows() - wrong.counts[i];
}

// All slots make a step of right and wrong tokens.
bool make_wrong_step(CheckParts parts, const WrongTokens& wrong, int variant) {
  auto& [probe, plain, book] = parts;
  std::vector<Tokens> guesses;
  for (std::size_t i = 0; i < wrong.slots.size(); ++i) {
    if (!plain.bring(SlotId{wrong.slots[i]})) return false;
    const TokenPos at = PlainWay::length_in(wrong.slots[i]);
    guesses.push_back(guessed(probe, at, wrong.counts[i], variant));
  }
  std::vector<DecodeStep> steps;
  for (std::size_t i = 0; i < wrong.slots.size(); ++i) {
    steps.push_back({SlotId{wrong.slots[i]}, guesses[i]});
  }
  return probe.step(steps);
}

// The wrong tokens are taken back, and all slots go on together. The rows of that step.
std::optional<std::vector<Row>> step_and_back(CheckParts parts, const WrongTokens& wrong,
                                              int variant) {
  EngineProbe& probe = parts.probe;
  if (!make_wrong_step(parts, wrong, variant)) return std::nullopt;
  std::vector<DecodeStep> steps;
  for (std::size_t i = 0; i < wrong.slots.size(); ++i) {
    const SlotId slot{wrong.slots[i]};
    const TokenPos at = kept_length(probe, wrong, i);
    if (probe.engine().truncate(slot, at) == TruncateAnswer::kRefused) {
      probe.note_error("the engine refused to take back what it says it can");
      return std::nullopt;
    }
    steps.push_back({slot, probe.tokens(at, at + 1)});
  }
  if (!probe.step(steps)) return std::nullopt;
  std::vector<Row> rows;
  for (const int slot : wrong.slots) rows.push_back(probe.row_of(SlotId{slot}));
  for (const int slot : wrong.slots) probe.engine().clear(SlotId{slot});
  return rows;
}

// What follows has to be the plain way's, and must not depend on what the wrong tokens were.
Outcome take_back(CheckParts parts, const WrongTokens& wrong) {
  const auto rows = step_and_back(parts, wrong, 0);
  const auto others = rows ? step_and_back(parts, wrong, 1) : std::nullopt;
  if (!others) return parts.probe.failed();
  Outcome outcome{0.0, parts.plain.bound(), {}};
  Outcome trace = parts.plain.restored_outcome();
  for (std::size_t i = 0; i < wrong.slots.size(); ++i) {
    const std::string slot = "slot " + std::to_string(wrong.slots[i]);
    outcome.compare((*rows)[i], parts.plain.row_after(kept_length(parts.probe, wrong, i)),
                    "the token after it in " + slot);
    trace.compare((*others)[i], (*rows)[i], "with another draft, the token after it in " + slot);
  }
  return outcome.finding.empty() ? Outcome{outcome.distance, outcome.allowed, trace.finding}
                                 : outcome;
}

}  // namespace

void add_taken_back_kinds(CheckParts parts) {
  const EngineProbe& probe = parts.probe;
  const Engine& engine = probe.engine();
  if (probe.rows() < 2) return;
  for (const int count : sizes_up_to(probe.rows() - 1)) {
    if (!engine.can_take_back(count)) break;
    parts.book.add(counted(count, "token") + " of " + std::to_string(probe.rows()) + " taken back",
                   Formed::kDrafted, 4.0, [&] {
                     return take_back(parts, {{0}, {count}});
                   });
  }
  if (probe.slots() < 2 || !engine.can_take_back(1)) return;
  WrongTokens wrong{neighbours(probe, probe.slots()), {}};
  for (int i = 0; i < probe.slots(); ++i) {
    TokenPos count = 1 + i % (probe.rows() - 1);
    while (!engine.can_take_back(count)) --count;
    wrong.counts.push_back(count);
  }
  parts.book.add("tokens of " + counted(probe.slots(), "slot") + " taken back", Formed::kBoth, 4.0,
                 [&] { return take_back(parts, wrong); });
}

}  // namespace holdfast::engine
