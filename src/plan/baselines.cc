#include "plan/baselines.h"

#include <algorithm>

namespace holdfast::plan {

namespace {

// After this many steps the first one, and later by this many for each step that a change costs.
constexpr double kFirst = 16.0;
constexpr double kForChange = 32.0;
// Where steps never settle, because slots come and go, a baseline gives nothing.
constexpr std::uint64_t kApart = 64;

}  // namespace

bool Baselines::due(const TimesBySize& steps, TokenPos rows, bool drafting) const {
  if (steps.timeless() || steps.notes() < none_before_) return false;
  return !steps.seen_lately(rows, drafting ? every_ : steps.notes() + 1);
}

void Baselines::begin(std::uint64_t notes) {
  none_before_ = notes + std::min(kApart, every_);
  every_ = std::min(2 * every_, kNotesMost);
}

void Baselines::note_drafting(double change_steps) {
  const double first = kFirst + kForChange * change_steps;
  every_ = std::min(static_cast<std::uint64_t>(first), kNotesMost);
}

std::vector<std::string> Baselines::check() const {
  if (every_ <= kNotesMost) return {};
  return {"BASELINE-1: none for " + std::to_string(every_) + " steps"};
}

}  // namespace holdfast::plan
