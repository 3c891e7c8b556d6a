#include "plan/draft_length.h"

#include <algorithm>

namespace holdfast {

namespace {

// What trials may cost: a hundredth of the time.
constexpr double kTrialShare = 0.01;
// A run of bad luck is longer than this only once in a while.
constexpr double kBalanceLeast = -2.0;
// Long enough to tell a companion that guesses the common words from a good one.
constexpr TokenPos kTrialTokens = 2;
// A trial is longer where that costs little more: all of it may be the snapshot.
constexpr double kLittleMore = 1.5;
// Evidence of some 128 steps ago is no longer news.
constexpr double kForgotten = 1.0 / 128;

}  // namespace

TokenPos DraftLength::choose(TokenPos most, BatchOthers others) {
  others_ = others;
  best_ = 0;
  most = std::min(most, AcceptanceByPosition::kPositions);
  if (most <= 0 || costs_->wants_step_of(others.rows + 1)) return 0;
  const double share = kTrialShare / (others.tokens + 1.0);  // this slot's part
  trials_ = std::min(trials_ + share, kTrialsMost);
  expected_ = expected_tokens(acceptance_.chances(most, prior_));
  best_ = best(most);
  if (best_ > 0 && balance_ < kBalanceLeast) {
    balance_ += share;
    return best_ = 0;
  }
  if (best_ == 0) acceptance_.forget(kForgotten);
  return try_out(most);
}

TokenPos DraftLength::best(TokenPos most) const {
  const auto rate = [&](TokenPos drafted) {
    return (others_.tokens + expected_[static_cast<std::size_t>(drafted)]) / ms(drafted);
  };
  TokenPos best = 0;
  for (TokenPos drafted = 1; drafted <= most; ++drafted) {
    if (rate(drafted) > rate(best)) best = drafted;
  }
  return best;
}

// Another length than the best where the account bears it.
TokenPos DraftLength::try_out(TokenPos most) {
  if (const TokenPos shorter = shorter_trial(); shorter > 0) {
    const double loss = expected_worth(best_) - expected_worth(shorter);
    if (trials_ < loss) return best_;
    trials_ -= std::max(loss, 0.0);
    return shorter;
  }
  if (best_ == most) return best_;
  const TokenPos longer = longer_trial(most);
  const double loss_at_worst = worth(best_, best_) - worth(longer, best_);
  if (trials_ < loss_at_worst) return best_;
  trials_ = std::min(trials_, loss_at_worst);  // what better times have left is not for trials
  return longer;
}

// The longest whose cost is only guessed, where costs are measured at all.
TokenPos DraftLength::shorter_trial() const {
  const auto known = [&](TokenPos drafted) {
    return costs_->knows_rows(others_.rows + 1 + drafted);
  };
  TokenPos length = known(0) ? best_ - 1 : 0;
  while (length > 0 && known(length)) --length;
  return length;
}

TokenPos DraftLength::longer_trial(TokenPos most) const {
  const auto loss = [&](TokenPos drafted) { return worth(best_, best_) - worth(drafted, best_); };
  TokenPos length = std::min(most, std::max(best_ + kTrialTokens, 2 * lucky_));
  const double bearable = kLittleMore * loss(length);
  while (length < most && loss(length + 1) <= bearable) ++length;
  return length;
}

void DraftLength::note(TokenPos drafted, TokenPos accepted) {
  if (drafted <= 0) return;
  acceptance_.note(drafted, accepted);
  balance_ = std::min(balance_ + worth(drafted, accepted), kBalanceMost);
  if (drafted <= best_) return;
  const double gained = worth(drafted, std::max(accepted, best_)) - worth(best_, best_);
  trials_ = std::min(trials_ + gained, kTrialsMost);
  lucky_ = accepted == drafted ? drafted : 0;
}

double DraftLength::expected(TokenPos drafted) const {
  return expected_tokens(acceptance_.chances(drafted, prior_)).back();
}

double DraftLength::ms(TokenPos drafted) const {
  const double step = costs_->ms_for_rows(others_.rows + 1 + drafted);
  if (drafted == 0) return step;
  return step + static_cast<double>(drafted) * costs_->ms_per_drafted() + costs_->ms_fixed();
}

// What a draft gains over none, in steps without one.
double DraftLength::worth(TokenPos drafted, double accepted) const {
  return accepted / (others_.tokens + 1.0) - (ms(drafted) - ms(0)) / ms(0);
}

double DraftLength::expected_worth(TokenPos drafted) const {
  return worth(drafted, expected_[static_cast<std::size_t>(drafted)] - 1.0);
}

std::vector<std::string> DraftLength::check() const {
  std::vector<std::string> violations;
  if (!(balance_ <= kBalanceMost)) violations.emplace_back("L1: the balance is too high");
  if (!(trials_ <= kTrialsMost)) violations.emplace_back("L1: too much is left for trials");
  for (const std::string& violation : acceptance_.check()) {
    violations.push_back("L2: " + violation);
  }
  return violations;
}

}  // namespace holdfast
