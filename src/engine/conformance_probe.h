// EngineProbe: runs the batches of a check (conformance.h) on an engine.
//
// It has the tokens that all kinds read, counts what their batches cost, keeps the engine's latest
// Error, and stops computing as soon as somebody waits for the engine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/conformance.h"
#include "engine/conformance_outcome.h"

namespace holdfast::engine {

// Tokens before the first row that is compared. Slots then hold kHistory to kHistory + kLengths - 1
// tokens, in turn: cheap to compute, and no two neighbours hold the same.
inline constexpr TokenPos kHistory = 4;
inline constexpr TokenPos kLengths = 4;

// The cost of a batch is counted in steps of one token: this many more tokens in a batch take about
// as long as one more step.
inline constexpr double kTokensPerStep = 8.0;

class EngineProbe {
 public:
  // REQUIRES: both outlive it.
  EngineProbe(Engine& engine, const ConformanceOptions& options);

  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] int slots() const { return slots_; }     // that may be in one step
  [[nodiscard]] TokenPos rows() const { return rows_; }  // that a slot may have in one step
  [[nodiscard]] TokenPos stream_end() const { return kHistory + kLengths - 1 + rows_; }
  [[nodiscard]] TokenPos longest_chunk() const;
  // Tokens [begin, end) of the stream that all kinds read.
  [[nodiscard]] TokenSpan tokens(TokenPos begin, TokenPos end) const;

  // --- computing: false or nothing after an Error, or when somebody waits ---
  // Reads tokens in pieces of these lengths into the slot, which is emptied first. The row of the
  // last one.
  [[nodiscard]] std::optional<Row> read(SlotId slot, TokenSpan all,
                                        const std::vector<TokenPos>& pieces);
  [[nodiscard]] bool step(std::span<const DecodeStep> steps);
  [[nodiscard]] std::optional<Row> decode_one(SlotId slot, TokenSpan token);
  // A row of the latest batch.
  [[nodiscard]] Row row_of(SlotId slot, TokenPos row = 0) const;

  // Whether the engine did it. An Error is kept.
  template <typename T>
  [[nodiscard]] bool done(const Result<T>& result) {
    if (!result.ok()) error_ = result.error().message;
    return result.ok();
  }
  void note_error(std::string what) { error_ = std::move(what); }
  // The error that was kept, as a finding. It is forgotten here.
  [[nodiscard]] Outcome failed();

  // Somebody waited: what was being computed is not complete.
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  // The steps that were computed since the last call.
  [[nodiscard]] double take_steps();

 private:
  [[nodiscard]] bool nobody_waits();

  Engine& engine_;
  const ConformanceOptions& options_;
  const int slots_;
  const TokenPos rows_;
  Tokens stream_;
  double steps_ = 0.0;
  bool interrupted_ = false;
  std::string error_;
};

}  // namespace holdfast::engine
