#include "plan/slot_places.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace holdfast::plan {

namespace {

// Nearer to the end than this it makes no difference: about the length of a short question.
constexpr double kNear = 32.0;

// The next prompt goes on from the last place, with the answer or with another in its stead, which
// lies beyond the end as it is now.
constexpr double kGoesOn = 1.0;

// A system block is sent again as it is: prompts part at its end, and inside it only where another
// one begins in the same way, which is a junction once it has been seen.
constexpr double kInsideSystem = 0.25;

bool inside_system(std::span<const Checkpoint> places, std::size_t index) {
  return std::ranges::any_of(places.subspan(index + 1), [](const Checkpoint& deeper) {
    return deeper.kind == CheckpointKind::kSystemEnd;
  });
}

// How likely prompts part at exactly this place, beside the chance of any other token. An old
// message is edited less often than a new one; from a system block others begin again and again.
double chance_at(CheckpointKind kind, double distance) {
  constexpr double kLatelySaid = 256.0;
  constexpr double kMessage = 0.5;
  constexpr double kShared = 4.0;
  switch (kind) {
    case CheckpointKind::kGridStep:
    case CheckpointKind::kAnswerStart: return 0.0;
    case CheckpointKind::kMessageEnd:
    case CheckpointKind::kPromptEnd: return kMessage * kLatelySaid / (distance + kLatelySaid);
    case CheckpointKind::kJunction:
    case CheckpointKind::kSystemEnd: return kShared;
  }
  return 0.0;
}

}  // namespace

double missed_by(std::span<const Checkpoint> places, std::size_t index, TokenPos end) {
  const Checkpoint& place = places[index];
  const TokenPos before = index == 0 ? 0 : places[index - 1].position;
  const TokenPos next = index + 1 == places.size() ? end : places[index + 1].position;
  CHECK(before <= place.position && place.position <= next && next <= end);
  const double from = end - place.position;
  const double to = end - next;
  const bool last = index + 1 == places.size();
  const double between = std::log((from + kNear) / (to + kNear)) *
                         (inside_system(places, index) ? kInsideSystem : 1.0);
  const double chance = between + chance_at(place.kind, from) + (last ? kGoesOn : 0.0);
  return chance * (place.position - before);
}

std::size_t least_missed(std::span<const Checkpoint> places, TokenPos end) {
  CHECK(!places.empty());
  std::size_t least = 0;
  double least_value = missed_by(places, 0, end);
  for (std::size_t i = 1; i < places.size(); ++i) {
    const double value = missed_by(places, i, end);
    if (value >= least_value) continue;
    least = i;
    least_value = value;
  }
  return least;
}

}  // namespace holdfast::plan
