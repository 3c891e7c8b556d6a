// Slots together in one step, and several tokens of each.
#include <cmath>

#include "engine/conformance_checks.h"
#include "engine/row_distance.h"

namespace holdfast::engine {

namespace {

constexpr int kEachUpTo = 8;

// The first slot begins with another token than the rest: how far that is says what is near. Only
// two batches, because a large model has no time for more before it serves.
Outcome begin_together(EngineProbe& probe) {
  Engine& engine = probe.engine();
  const bool several = probe.slots() > 1;
  const auto alone = probe.read(SlotId{0}, probe.tokens(0, 1), {1});
  if (!alone) return probe.failed();
  engine.clear(SlotId{0});
  std::vector<DecodeStep> steps;
  for (int i = 0; i < probe.slots(); ++i) {
    const TokenPos first = several && i == 0 ? 1 : 0;
    steps.push_back({SlotId{i}, probe.tokens(first, first + 1)});
  }
  if (!probe.step(steps)) return probe.failed();
  const double apart = several ? row_distance(probe.row_of(SlotId{0}), *alone) : 1.0;
  Outcome outcome{0.0, apart / 2.0, {}};
  if (std::isinf(apart)) outcome.finding = "slot 0 has a value that is no number";
  for (int i = several ? 1 : 0; i < probe.slots(); ++i) {
    outcome.compare(probe.row_of(SlotId{i}), *alone, "slot " + std::to_string(i));
  }
  for (int i = 0; i < probe.slots(); ++i) engine.clear(SlotId{i});
  return outcome;
}

// Each slot goes on from a state of the plain way with `rows` tokens.
Outcome step_of(CheckParts parts, const std::vector<int>& slots, TokenPos rows) {
  auto& [probe, plain, book] = parts;
  std::vector<DecodeStep> steps;
  for (const int slot : slots) {
    if (!plain.bring(SlotId{slot})) return probe.failed();
    const TokenPos at = PlainWay::length_in(slot);
    steps.push_back({SlotId{slot}, probe.tokens(at, at + rows)});
  }
  if (!probe.step(steps)) return probe.failed();
  Outcome outcome{0.0, plain.bound(), {}};
  for (const int slot : slots) {
    for (TokenPos row = 0; row < rows; ++row) {
      outcome.compare(probe.row_of(SlotId{slot}, row),
                      plain.row_after(PlainWay::length_in(slot) + row),
                      "token " + std::to_string(row) + " of slot " + std::to_string(slot));
    }
  }
  for (const int slot : slots) probe.engine().clear(SlotId{slot});
  return outcome;
}

void add_step_kind(CheckParts parts, const std::vector<int>& slots, TokenPos rows,
                   const std::string& where = "") {
  const bool several = slots.size() > 1;
  const Formed formed = several    ? rows > 1 ? Formed::kBoth : Formed::kTogether
                        : rows > 1 ? Formed::kDrafted
                                   : Formed::kAlways;
  const std::string name = counted(static_cast<int>(slots.size()), "slot") + where + ", " +
                           counted(rows, "token") + (several ? " each" : "");
  const auto all = static_cast<double>(slots.size() * static_cast<std::size_t>(rows));
  parts.book.add(name, formed, 1.0 + all / kTokensPerStep,
                 [&] { return step_of(parts, slots, rows); });
}

}  // namespace

std::vector<int> sizes_up_to(int most) {
  std::vector<int> sizes;
  for (int n = 1; n < most; n = n < kEachUpTo ? n + 1 : n * 2) sizes.push_back(n);
  sizes.push_back(most);
  return sizes;
}

std::vector<int> neighbours(const EngineProbe& probe, int count) {
  std::vector<int> slots;
  const int from = count % 2 == 0 ? 0 : probe.engine().slot_count() - count;
  for (int i = 0; i < count; ++i) slots.push_back(from + i);
  return slots;
}

void add_beginning_kind(CheckParts parts) {
  EngineProbe& probe = parts.probe;
  const bool several = probe.slots() > 1;
  const std::string name =
      several ? counted(probe.slots(), "slot") + " beginning together" : "a slot beginning";
  parts.book.add(name, several ? Formed::kTogether : Formed::kAlways, 2.0,
                 [&] { return begin_together(probe); });
}

void add_fullest_step_kinds(CheckParts parts) {
  const auto all = neighbours(parts.probe, parts.probe.slots());
  add_step_kind(parts, all, 1);
  if (parts.probe.rows() > 1) add_step_kind(parts, all, parts.probe.rows());
}

void add_step_kinds(CheckParts parts) {
  const int slots = parts.probe.slots();
  const TokenPos most_rows = parts.probe.rows();
  for (const int count : sizes_up_to(slots)) {
    for (const int rows : sizes_up_to(most_rows)) {
      const bool before = count == slots && (rows == 1 || rows == most_rows);
      if (!before) add_step_kind(parts, neighbours(parts.probe, count), rows);
    }
  }
  if (slots < 3) return;
  std::vector<int> others;
  for (int i = 0; i < slots; i += 2) others.push_back(i);
  add_step_kind(parts, others, 1, " with gaps between them");
}

}  // namespace holdfast::engine
