#include "plan/length_trials.h"

#include <algorithm>

namespace holdfast::plan {

namespace {

// Long enough to tell a companion that guesses the common words from a good one.
constexpr TokenPos kTrialTokens = 2;
// A trial is longer where that costs little more: all of it may be the snapshot.
constexpr double kLittleMore = 1.5;

}  // namespace

TokenPos LengthTrials::length() const {
  const TokenPos guessed = hopeful();
  return guessed == here_ ? longer() : guessed;
}

// One whose cost is only guessed, and may turn out well.
TokenPos LengthTrials::hopeful() const {
  TokenPos best = here_;
  double best_rate = kBetterRate * prospects_.at(here_).rate();
  for (TokenPos length = 1; length <= prospects_.most(); ++length) {
    const Prospect& step = prospects_.at(length);
    const double rate = step.tokens / step.ms_at_best;
    if (costs_.steps().usual().knows(step.rows) || rate <= best_rate) continue;
    best = length;
    best_rate = rate;
  }
  return best;
}

TokenPos LengthTrials::longer() const {
  const TokenPos most = prospects_.most();
  TokenPos length = std::min(most, here_ + kTrialTokens);
  const double bearable = kLittleMore * price(length);
  while (length < most && price(length + 1) <= bearable) ++length;
  return length;
}

bool LengthTrials::could_pay(TokenPos length) const {
  const double rate = kBetterRate * prospects_.at(here_).rate();
  for (TokenPos tried = here_ + 1; tried <= length; ++tried) {
    const Prospect& step = prospects_.at(tried);
    if (step.tokens_at_best / step.ms_at_best > rate) return true;
  }
  return false;
}

double LengthTrials::price(TokenPos length) const {
  // Of a longer one no more tokens, at worst.
  const double tokens = prospects_.at(std::min(length, here_)).tokens;
  return prospects_.run_steps(costs_) * std::max(lost(prospects_.at(length).ms, tokens), 0.0) +
         2.0 * prospects_.change_steps(costs_);
}

double LengthTrials::lost(double ms, double tokens) const {
  return (ms - tokens / prospects_.at(here_).rate()) / prospects_.at(0).ms;
}

}  // namespace holdfast::plan
