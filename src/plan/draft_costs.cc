#include "plan/draft_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace holdfast {

namespace {

// A mean of about the last four.
constexpr double kNewTimeWeight = 1.0 / 4;
// A whole stretch of odd times does not make it odder than this, each time.
constexpr double kOddTime = 2.0;
// The last 32 calls or so.
constexpr double kCallsKept = 31.0 / 32;
// Calls that found nothing at all still leave a finite price for a token.
constexpr double kTokensLeast = 1.0 / 8;

// Before anything is known: between a GPU (a hundredth) and a small CPU (a half).
constexpr double kRowShare = 0.1;
// A context that grows by this many tokens has not changed a step's time by much,
// and one step in 64 without a draft loses at most 1.5%.
constexpr std::uint64_t kFreshSteps = 64;

double nominal(TokenPos rows) { return 1.0 + kRowShare * static_cast<double>(rows - 1); }

}  // namespace

// Of the first times the shortest is believed: waiting only ever adds.
void SteadyTime::note(double ms) {
  latest_[count_ % latest_.size()] = ms;
  ++count_;
  if (count_ < latest_.size()) {
    mean_ = count_ == 1 ? ms : std::min(mean_, ms);
    return;
  }
  auto sorted = latest_;
  std::ranges::sort(sorted);
  mean_ += kNewTimeWeight * (std::min(sorted[1], kOddTime * mean_) - mean_);
}

void DraftCosts::note_step(TokenPos rows, double ms) {
  if (rows < 1 || rows > kRowsMax || !(ms > 0.0) || !std::isfinite(ms)) return;
  Visited& visited = visited_[rows];
  visited.time.note(ms);
  visited.step = ++steps_;
  if (!visited.time.known()) return;
  auto at = std::ranges::lower_bound(known_, rows, {}, &Point::rows);
  if (at == known_.end() || at->rows != rows) at = known_.insert(at, Point{rows, 0.0});
  at->ms = visited.time.ms();
}

void DraftCosts::note_draft(TokenPos tokens, double ms) {
  if (tokens < 0 || !(ms >= 0.0) || !std::isfinite(ms)) return;
  found_tokens_ = kCallsKept * found_tokens_ + static_cast<double>(tokens);
  empty_calls_ = kCallsKept * empty_calls_ + (tokens == 0 ? 1.0 : 0.0);
  if (tokens == 0) {
    empty_call_.note(ms);
  } else {
    found_token_.note(ms / static_cast<double>(tokens));
  }
}

void DraftCosts::note_fixed(double ms) {
  if (ms >= 0.0 && std::isfinite(ms)) fixed_.note(ms);
}

double DraftCosts::ms_for_rows(TokenPos rows) const {
  if (known_.empty()) return nominal(rows);
  const auto above = std::ranges::lower_bound(known_, rows, {}, &Point::rows);
  if (above == known_.end()) return beyond(rows, known_.back());
  if (above->rows == rows) return above->ms;
  if (above == known_.begin()) return beyond(rows, known_.front());
  const Point below = *std::prev(above);
  const double part =
      static_cast<double>(rows - below.rows) / static_cast<double>(above->rows - below.rows);
  return below.ms + part * (above->ms - below.ms);
}

// From one end of what is known onwards. More rows never cost less, nor more than in
// proportion.
double DraftCosts::beyond(TokenPos rows, Point end) const {
  double slope = kRowShare * end.ms / nominal(end.rows);
  if (known_.size() > 1) {
    slope = (known_.back().ms - known_.front().ms) /
            static_cast<double>(known_.back().rows - known_.front().rows);
  }
  slope = std::clamp(slope, 0.0, end.ms / static_cast<double>(end.rows));
  return end.ms + slope * static_cast<double>(rows - end.rows);
}

bool DraftCosts::knows_rows(TokenPos rows) const {
  return std::ranges::binary_search(known_, rows, {}, &Point::rows);
}

double DraftCosts::ms_per_drafted() const {
  if (known_.empty()) return 0.0;
  return found_token_.ms() +
         empty_call_.ms() * empty_calls_ / std::max(found_tokens_, kTokensLeast);
}

double DraftCosts::ms_fixed() const { return known_.empty() ? 0.0 : fixed_.ms(); }

// About: a quarter more or less, so that a few slots are told apart one by one and
// many are not.
bool DraftCosts::wants_step_of(TokenPos rows) const {
  const auto fresh = [&](const auto& at) {
    return at.second.time.known() && steps_ - at.second.step < kFreshSteps;
  };
  const TokenPos about = rows / 4;
  return !visited_.empty() && std::none_of(visited_.lower_bound(rows - about),
                                           visited_.upper_bound(rows + about), fresh);
}

std::vector<std::string> DraftCosts::check() const {
  std::vector<std::string> violations;
  for (const auto& [rows, visited] : visited_) {
    if (rows < 1 || rows > kRowsMax) {
      violations.push_back("D1: " + std::to_string(rows) + " rows are kept");
    }
  }
  for (const Point& point : known_) {
    if (!std::isfinite(point.ms) || point.ms <= 0.0) {
      violations.push_back("D2: " + std::to_string(point.rows) + " rows have no cost");
    }
  }
  if (!std::isfinite(ms_per_drafted()) || ms_per_drafted() < 0.0 || !std::isfinite(ms_fixed()) ||
      ms_fixed() < 0.0) {
    violations.push_back("D2: a draft has no cost");
  }
  return violations;
}

}  // namespace holdfast
