#include "plan/times_by_size.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace holdfast::plan {

namespace {

// A change that costs less than this share of the cheapest work is no matter.
constexpr double kNoMatter = 0.05;
// Of a time after a change, if all the rest of it was the change.
constexpr double kLeastShare = 0.1;
// One odd time must not make changes so dear that none is ever made again.
constexpr double kChangeMost = 8.0;

}  // namespace

void TimesBySize::note(TokenPos size, double ms) {
  timeless_ = ms == 0.0;
  if (size < 1 || size > kSizeMost || !(ms > 0.0) || !std::isfinite(ms)) return;
  if (run_.changes_to(size)) {
    change_.begin_run(notes_ > 0);
    run_.begin(size);
  }
  ++notes_;
  learn_time(size, ms);
  run_.note();
}

void TimesBySize::learn_time(TokenPos size, double ms) {
  SizeTimes& times = visited_[size];
  if (!run_.settled()) change_.note_first(run_.length(), ms);
  if (run_.length() == 0) times.first.note(ms / slowness());
  if (run_.settled() || !changes_cost()) {
    times.settled_at = notes_;
    if (slowness_.is_reference(size)) {
      slowness_.note(ms / times.settled.ms());
    } else {
      times.settled.note(ms / slowness());
    }
  }
  if (run_.length() >= SizeRun::kLong && times.settled.known()) slowness_.set_reference(size);
  const bool tells = run_.settled() && times.settled.known();
  if (tells && change_.learn(times.settled.ms(), slowness())) {
    usual_.clear();  // what a change costs is part of every guess
    for (const auto& [visited, its] : visited_) remember(visited, its);
  }
  remember(size, times);
}

// A guess from first times takes no less than what is known of smaller sizes.
void TimesBySize::remember(TokenPos size, const SizeTimes& times) {
  if (!times.settled.known() && !times.first.known()) return;
  const double least = usual_.ms_below(size, kLeastShare * times.first.ms());
  const double guess = times.first.ms() - change_.first_ms();
  usual_.set(size, times.settled.known() ? times.settled.ms() : std::max(guess, least));
}

double TimesBySize::ms_at_best(TokenPos size) const {
  const double line = ms(size);
  if (usual_.knows(size)) return line;
  const double below = usual_.ms_below(size, std::numeric_limits<double>::infinity());
  return (line + std::min(line, slowness() * below)) / 2.0;
}

double TimesBySize::change_ms() const {
  if (usual_.empty()) return 0.0;
  return slowness() * std::min(change_.ms(), kChangeMost * usual_.least_ms());
}

bool TimesBySize::changes_cost() const {
  if (!change_.known()) return notes_ > 0;  // to be found out
  return change_ms() > kNoMatter * slowness() * usual_.least_ms();
}

bool TimesBySize::seen_lately(TokenPos size, std::uint64_t notes) const {
  const auto lately = [&](const auto& at) {
    return at.second.settled.known() && notes_ - at.second.settled_at < notes;
  };
  const TokenPos about = size / 4;
  return std::any_of(visited_.lower_bound(size - about), visited_.upper_bound(size + about),
                     lately);
}

std::vector<std::string> TimesBySize::check() const {
  std::vector<std::string> violations;
  for (const auto& [size, times] : visited_) {
    if (size < 1 || size > kSizeMost) {
      violations.push_back("TIMES-1: size " + std::to_string(size) + " is kept");
    }
  }
  if (!std::isfinite(change_ms()) || change_ms() < 0.0) {
    violations.emplace_back("TIMES-2: a change has no cost");
  }
  for (const auto& part : {usual_.check(), run_.check(), change_.check(), slowness_.check()}) {
    for (const std::string& violation : part) violations.push_back("TIMES-3: " + violation);
  }
  return violations;
}

}  // namespace holdfast::plan
