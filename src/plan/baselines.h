// Baselines: when a run of steps without drafts is due, while the choice is to draft.
//
// A machine that is slow for a while makes what it measures then look bad, and a context that
// grows makes all steps slower. So drafting is compared with plain steps now and then: soon after
// drafting began, later where changes cost much, and less often each time.
//
// Invariants, verified by check():
//   BASELINE-1  while drafting, a baseline is due at most kNotesMost noted steps after the last
//
// Pure: no I/O, no clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/times_by_size.h"

namespace holdfast::plan {

class Baselines {
 public:
  // A context that grows by this many tokens has not changed a step's time by much, and a run of
  // five steps without drafts in 512 loses less than a hundredth.
  static constexpr std::uint64_t kNotesMost = 512;

  // `rows`: of a step without drafts.
  [[nodiscard]] bool due(const TimesBySize& steps, TokenPos rows, bool drafting) const;
  // One begins, after this many noted steps.
  void begin(std::uint64_t notes);
  // Drafting begins, where a change costs as much as this many steps.
  void note_drafting(double change_steps);

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  std::uint64_t none_before_ = 0;  // this many notes
  std::uint64_t every_ = 0;        // this many, while drafting is on
};

}  // namespace holdfast::plan
