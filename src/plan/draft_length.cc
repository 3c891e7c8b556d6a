#include "plan/draft_length.h"

#include <algorithm>

namespace holdfast {

namespace {

// What trying may cost: a hundredth of the time.
constexpr double kTryShare = 0.01;
// A run of bad luck is longer than this only once in a while.
constexpr double kPurseLeast = -2.0;
// Long enough to tell a companion that guesses the common words from a good one.
constexpr TokenPos kTryTokens = 2;
// Evidence of some 128 steps ago is no longer news.
constexpr double kForgotten = 1.0 / 128;

}  // namespace

TokenPos DraftLength::choose(TokenPos most, BatchOthers others) {
  others_ = others;
  most = std::min(most, AcceptanceByPosition::kPositions);
  if (most <= 0) return 0;
  if (costs_->wants_step_of(others.rows + 1)) return 0;
  const TokenPos length = best(most);
  if (length > 0 && purse_ > kPurseLeast) return length;
  pay_in(kTryShare / (others.tokens + 1.0));  // of the time, this slot's part
  acceptance_.forget(kForgotten);
  return length > 0 ? 0 : try_out(most);
}

TokenPos DraftLength::best(TokenPos most) const {
  const auto tokens = expected_tokens(acceptance_.chances(most, prior_));
  const auto rate = [&](TokenPos drafted) {
    return (others_.tokens + tokens[static_cast<std::size_t>(drafted)]) / ms(drafted);
  };
  TokenPos best = 0;
  for (TokenPos drafted = 1; drafted <= most; ++drafted) {
    if (rate(drafted) > rate(best)) best = drafted;
  }
  return best;
}

// What lies in the purse from better times is not for trying.
TokenPos DraftLength::try_out(TokenPos most) {
  const TokenPos length = std::min(most, try_tokens_);
  const double at_worst = loss(length, 0);
  if (purse_ < at_worst) return 0;
  purse_ = std::min(purse_, at_worst);
  return length;
}

void DraftLength::note(TokenPos drafted, TokenPos accepted) {
  if (drafted <= 0) return;
  acceptance_.note(drafted, accepted);
  pay_in(-loss(drafted, accepted));
  try_tokens_ = accepted == drafted ? std::max(try_tokens_, 2 * drafted) : kTryTokens;
}

double DraftLength::expected(TokenPos drafted) const {
  return expected_tokens(acceptance_.chances(drafted, prior_)).back();
}

double DraftLength::ms(TokenPos drafted) const {
  const double step = costs_->ms_for_rows(others_.rows + 1 + drafted);
  if (drafted == 0) return step;
  return step + static_cast<double>(drafted) * costs_->ms_per_drafted() + costs_->ms_fixed();
}

// Against steps without a draft that yield as many tokens.
double DraftLength::loss(TokenPos drafted, TokenPos accepted) const {
  const double others_and_one = others_.tokens + 1.0;
  return ms(drafted) / ms(0) - (others_and_one + static_cast<double>(accepted)) / others_and_one;
}

void DraftLength::pay_in(double steps) { purse_ = std::min(purse_ + steps, kPurseMost); }

std::vector<std::string> DraftLength::check() const {
  std::vector<std::string> violations;
  for (const std::string& violation : acceptance_.check()) {
    violations.push_back("L2: " + violation);
  }
  if (!(purse_ <= kPurseMost)) violations.emplace_back("L1: the purse holds too much");
  return violations;
}

}  // namespace holdfast
