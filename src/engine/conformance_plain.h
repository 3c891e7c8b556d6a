// PlainWay: one sequence computed alone, token by token, which everything else in a check
// (conformance.h) is compared with; and how far two ways of computing it may differ.
//
//   stream   t0 t1 t2 t3 | t4 t5 t6 t7 t8 ...
//            history     ^s0^s1^s2^s3              states that slots are brought to
//                       r3 r4 r5 r6 r7 r8 ...      rows: row_after(p) follows token p
#pragma once

#include <optional>
#include <vector>

#include "engine/conformance_book.h"
#include "engine/conformance_probe.h"

namespace holdfast::engine {

class PlainWay {
 public:
  // Measures into the book's report. REQUIRES: all of them outlive it.
  PlainWay(EngineProbe& probe, const ConformanceOptions& options, KindBook& book)
      : probe_(probe), options_(options), book_(book), report_(book.report()) {}

  // Adds the kinds that compute the rows and states, and measure rounding and effect. Where one
  // fails, the rest of the check is left out. Everything below requires that none did.
  void add_kinds();

  [[nodiscard]] const Row& row_after(TokenPos at) const;
  // A state of the stream's first kHistory + i tokens, 0 <= i < kLengths.
  [[nodiscard]] const SavedState& state(TokenPos i) const;
  // Brings the slot to one of these states; which one follows from the slot's number.
  [[nodiscard]] bool bring(SlotId slot);
  [[nodiscard]] static TokenPos length_in(int slot) { return kHistory + slot % kLengths; }

  // How far a row may be off that was computed in batches like those that rounding was measured
  // with, and how far any row may be off.
  [[nodiscard]] double bound() const;
  [[nodiscard]] double farthest() const { return report_.effect / 2.0; }
  // For restored states: the same bits, where the engine promises that and keeps it.
  [[nodiscard]] Outcome restored_outcome() const;

 private:
  [[nodiscard]] Outcome compute();
  [[nodiscard]] Outcome repeat();
  [[nodiscard]] Outcome measure();
  // Nothing after an Error.
  [[nodiscard]] std::optional<double> rounding();
  [[nodiscard]] std::optional<double> effect();

  EngineProbe& probe_;
  const ConformanceOptions& options_;
  KindBook& book_;
  ConformanceReport& report_;
  std::vector<Row> rows_;  // after the tokens from kHistory - 1 on
  std::vector<SavedState> states_;
};

}  // namespace holdfast::engine
