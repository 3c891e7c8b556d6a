#include "plan/draft_accounts.h"

#include <algorithm>

namespace holdfast::plan {

namespace {

// What trials may cost: a hundredth of the time.
constexpr double kTrialShare = 0.01;
// A run of bad luck is longer than this only once in a while.
constexpr double kBalanceLeast = -2.0;

}  // namespace

void DraftAccounts::pay(double& account, double more, double most) {
  account = std::clamp(account + more, -kTrialsMost, most);
}

void DraftAccounts::pay_share_of(double steps) {
  trials_ = std::min(trials_ + kTrialShare * steps, kTrialsMost);
}

void DraftAccounts::pay_off() { balance_ += kTrialShare; }

bool DraftAccounts::overdrawn(bool drafting, double change_steps) const {
  return balance_ <
         (drafting ? kBalanceLeast - 2.0 * change_steps : std::min(kBalanceLeast, -change_steps));
}

bool DraftAccounts::bears_trial(double price, bool could_pay) const {
  const double needed = could_pay ? std::min(price, kTrialsMost) : kTrialsMost;
  return trials_ >= needed;
}

void DraftAccounts::begin_trial(double price, double change_steps) {
  trials_ = std::min(trials_, price);
  trials_ -= 2.0 * change_steps;
}

void DraftAccounts::forgive_debt(double change_steps) {
  const double forgiven = std::max(-change_steps - balance_, 0.0);
  pay(balance_, forgiven, kBalanceMost);
  pay(trials_, -forgiven, kTrialsMost);
}

std::vector<std::string> DraftAccounts::check() const {
  std::vector<std::string> violations;
  if (!(balance_ <= kBalanceMost)) violations.emplace_back("ACCOUNT-1: the balance is too high");
  if (!(trials_ <= kTrialsMost)) violations.emplace_back("ACCOUNT-1: too much is left for trials");
  return violations;
}

}  // namespace holdfast::plan
