// Conformance: whether an engine computes what it should, on this machine and with this model.
//
// Every kind of batch that the scheduler forms is computed and compared with the plain way: one
// sequence, alone, token by token.
//
//   together    several slots begin or go on in one step
//   rows        several tokens of a slot in one step, as drafts are verified
//   taken back  the last tokens of such a step are taken back, and the slot goes on
//   restored    a state is restored: whole, from rows and a snapshot, in place
//   chunks      a prompt is read in pieces of several sizes
//
// What counts as equal follows from two distances (row_distance.h) that are measured first:
//   rounding  between ways of computing one sequence alone, which differ in their batches only
//   effect    between a row and the one that a state lacking one token gives
// A row passes if its distance from the plain way is at most kRoundings times the rounding, or at
// most kLeastOfEffect of the effect where that is more: a router that chooses another expert in a
// near tie is no fault, and makes the distance jump. It never passes beyond half the effect,
// because it has to be nearer to the right state than to one that is a token off. A row with a
// value that is not a number never passes. A restored state has to go on with the same bits, if the
// engine gives the same bits for the same batch at all.
//
// 22 tiny architectures on a Zen 4: several slots and rows are at most 3.3 roundings off, and never
// more than 0.003 of half the effect; long chunks up to 0.06 of it (a mixture of experts).
//
// The first kind needs neither distance: all slots begin together, the first with another token
// than the rest. It costs two batches of one token for each slot, and exposes an engine that
// computes only the first of several sequences.
//
// Kinds that find much for their cost come first. When the time is over, or somebody waits, the
// remaining kinds are left out, and the report says so.
//
// The engine's slots are empty before and after.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace holdfast::engine {

inline constexpr double kRoundings = 8.0;
inline constexpr double kLeastOfEffect = 0.05;

// Increased when the check changes, because an engine that passed before may not pass now.
inline constexpr int kConformanceVersion = 1;

struct ConformanceOptions {
  TokenPos chunk = 256;  // the longest chunk that a prompt is read in
  // Whether the scheduler will decode several slots in one step, and verify drafts.
  bool together = true;
  bool drafts = true;
  // Whether the engine promises the same bits for the same batch, as it does on a processor. Where
  // it does not, the check measures whether they are the same.
  bool repeats = true;
  double ms_max = 1e9;             // for all kinds together; the first is always checked
  std::set<std::string> known;     // kinds that passed before; not checked again
  std::set<std::string> must;      // kinds that are checked even if time is short
  std::function<bool()> wanted;    // somebody waits: the rest is left out; null: nobody
  std::function<double()> now_ms;  // null: the steady clock
};

enum class CheckVerdict { kPassed, kKnown, kFailed, kLeftOut };
[[nodiscard]] const char* check_verdict_name(CheckVerdict verdict);

struct CheckedKind {
  std::string name;       // "3 slots, 2 tokens each"
  bool together = false;  // formed only if several slots are decoded in one step
  bool drafted = false;   // formed only if drafts are verified
  CheckVerdict verdict = CheckVerdict::kLeftOut;
  double distance = 0.0;  // the largest from the plain way
  double allowed = 0.0;   // the largest that passes; 0: the bits have to be the same
  std::string finding;    // what is wrong, for people; empty: nothing
};

struct ConformanceReport {
  std::vector<CheckedKind> kinds;
  double rounding = 0.0;
  double effect = 0.0;   // 0: it was not measured
  bool repeats = false;  // the same batch gave the same bits
  double ms = 0.0;

  [[nodiscard]] bool passed() const;    // nothing failed
  [[nodiscard]] bool complete() const;  // nothing was left out
  // Whether no kind failed that is formed with these settings.
  [[nodiscard]] bool passed_with(bool together, bool drafts) const;
  [[nodiscard]] std::size_t count(CheckVerdict verdict) const;
  [[nodiscard]] const CheckedKind* first_failure() const;  // null: none
  // The names of the kinds that passed, now or before.
  [[nodiscard]] std::set<std::string> good() const;
};

// The names of the kinds that there are for this engine and these options. Computes nothing.
[[nodiscard]] std::vector<std::string> conformance_kinds(Engine& engine,
                                                         const ConformanceOptions& options);

// REQUIRES: all slots are empty.
[[nodiscard]] ConformanceReport check_conformance(Engine& engine,
                                                  const ConformanceOptions& options);

}  // namespace holdfast::engine
