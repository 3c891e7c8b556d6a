#include "plan/draft_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace holdfast {

namespace {

// A mean of about the last eight.
constexpr double kNewTimeWeight = 1.0 / 8;
// Drafts of the last 32 calls or so.
constexpr double kDraftsKept = 31.0 / 32;
// A call that takes longer than this many usual ones waited for something.
constexpr double kOddCall = 4.0;
// Calls that found nothing at all still leave a finite price for a token.
constexpr double kTokensLeast = 1.0 / 8;

// Before anything is known: between a GPU (a hundredth) and a small CPU (a half).
constexpr double kRowShare = 0.1;
// A context that grows by this many tokens has not changed a step's time by much,
// and one step in 64 without a draft loses at most 1.5%.
constexpr std::uint64_t kFreshSteps = 64;

double median(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

double nominal(TokenPos rows) { return 1.0 + kRowShare * static_cast<double>(rows - 1); }

}  // namespace

// Of two times the shorter is believed: waiting only ever adds.
void SteadyTime::note(double ms) {
  latest_[count_ % 3] = ms;
  ++count_;
  if (count_ == 1) {
    mean_ = ms;
  } else if (count_ == 2) {
    mean_ = std::min(latest_[0], latest_[1]);
  } else {
    const double believed = median(latest_[0], latest_[1], latest_[2]);
    mean_ = count_ == 3 ? believed : mean_ + kNewTimeWeight * (believed - mean_);
  }
}

void DraftCosts::note_step(TokenPos rows, double ms) {
  if (rows < 1 || rows > kRowsMax || !(ms > 0.0) || !std::isfinite(ms)) return;
  Visited& visited = visited_[rows];
  visited.time.note(ms);
  visited.step = ++steps_;
}

void DraftCosts::note_draft(TokenPos tokens, double ms) {
  if (tokens < 0 || !(ms >= 0.0) || !std::isfinite(ms)) return;
  if (draft_calls_ > 2.0) ms = std::min(ms, kOddCall * draft_ms_ / draft_calls_);
  draft_ms_ = kDraftsKept * draft_ms_ + ms;
  draft_tokens_ = kDraftsKept * draft_tokens_ + static_cast<double>(tokens);
  draft_calls_ = kDraftsKept * draft_calls_ + 1.0;
}

void DraftCosts::note_fixed(double ms) {
  if (ms >= 0.0 && std::isfinite(ms)) fixed_.note(ms);
}

double DraftCosts::ms_for_rows(TokenPos rows) const {
  if (visited_.empty()) return nominal(rows);
  const auto above = visited_.lower_bound(rows);
  if (above == visited_.end()) {
    return beyond(rows, visited_.rbegin()->first, visited_.rbegin()->second.time.ms());
  }
  const auto [above_rows, above_ms] = std::pair(above->first, above->second.time.ms());
  if (above_rows == rows) return above_ms;
  if (above == visited_.begin()) return beyond(rows, above_rows, above_ms);
  const auto below = std::prev(above);
  const double part =
      static_cast<double>(rows - below->first) / static_cast<double>(above_rows - below->first);
  return below->second.time.ms() + part * (above_ms - below->second.time.ms());
}

// From one end of what was visited onwards. More rows never cost less, nor more
// than in proportion.
double DraftCosts::beyond(TokenPos rows, TokenPos end_rows, double end_ms) const {
  double slope = kRowShare * end_ms / nominal(end_rows);
  if (visited_.size() > 1) {
    const auto& [first_rows, first] = *visited_.begin();
    const auto& [last_rows, last] = *visited_.rbegin();
    slope = (last.time.ms() - first.time.ms()) / static_cast<double>(last_rows - first_rows);
  }
  slope = std::clamp(slope, 0.0, end_ms / static_cast<double>(end_rows));
  return end_ms + slope * static_cast<double>(rows - end_rows);
}

double DraftCosts::ms_per_drafted() const {
  if (visited_.empty() || draft_calls_ == 0.0) return 0.0;
  return draft_ms_ / std::max(draft_tokens_, kTokensLeast);
}

double DraftCosts::ms_fixed() const { return visited_.empty() ? 0.0 : fixed_.ms(); }

// About: a quarter more or less, so that a few slots are told apart one by one and
// many are not.
bool DraftCosts::wants_step_of(TokenPos rows) const {
  if (visited_.empty()) return false;
  const auto fresh = [&](const auto& at) { return steps_ - at.second.step < kFreshSteps; };
  const TokenPos about = rows / 4;
  return std::none_of(visited_.lower_bound(rows - about), visited_.upper_bound(rows + about),
                      fresh);
}

std::vector<std::string> DraftCosts::check() const {
  std::vector<std::string> violations;
  for (const auto& [rows, visited] : visited_) {
    const std::string name = std::to_string(rows) + " rows";
    if (rows < 1 || rows > kRowsMax) violations.push_back("D1: " + name + " are kept");
    const double ms = visited.time.ms();
    if (!std::isfinite(ms) || ms <= 0.0) violations.push_back("D2: " + name + " cost nothing");
  }
  if (!std::isfinite(ms_per_drafted()) || ms_per_drafted() < 0.0 || !std::isfinite(ms_fixed()) ||
      ms_fixed() < 0.0) {
    violations.push_back("D2: a draft has no cost");
  }
  return violations;
}

}  // namespace holdfast
