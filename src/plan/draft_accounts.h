// DraftAccounts: what bounds the cost of a wrong estimate when drafts are paced.
//
// Two accounts, counted in steps without a draft:
//   - trials: each step pays in a hundredth. When that bears what a run loses at worst, another
//     length may be tried. What a trial gains is paid in too, so after a lucky one the next
//     follows at once: that is how drafting comes back when a text becomes easy. A run that gained
//     also buys the balance out of its debt.
//   - balance: what drafts have gained over steps without one, less what changes have cost. While
//     it is overdrawn, nothing is drafted, whatever the estimates promise.
//
// Invariants, verified by check():
//   ACCOUNT-1  neither account holds more than its limit
//
// Pure: no I/O, no clock.
#pragma once

#include <string>
#include <vector>

namespace holdfast::plan {

class DraftAccounts {
 public:
  static constexpr double kTrialsMost = 32.0;
  static constexpr double kBalanceMost = 8.0;  // what better times leave to burn in worse ones

  // A step went by that took as long as this many without a draft.
  void pay_share_of(double steps);
  // Drafts gained this much: of the choice that stands, or a whole trial. Below 0: they lost.
  void gain(double steps) { pay(balance_, steps, kBalanceMost); }
  // Another length is chosen.
  void pay_change(double change_steps) { balance_ -= change_steps; }
  // The balance is overdrawn, and a step goes by without a draft.
  void pay_off();
  // Whether drafting has to stop, or may not begin. Whoever begins has what the way there and some
  // bad luck cost.
  [[nodiscard]] bool overdrawn(bool drafting, double change_steps) const;

  // Whether a trial that loses this much at worst can be afforded. One that cannot pay has to wait
  // until the account is full.
  [[nodiscard]] bool bears_trial(double price, bool could_pay) const;
  // What better times have left beyond the price is not for trials; the way there and back is paid.
  void begin_trial(double price, double change_steps);
  // A step of a trial lost this much against the choice that stands.
  void lose_in_trial(double steps) { pay(trials_, -steps, kTrialsMost); }
  // A trial gained: it buys the balance out of what it owes beyond the price of a change.
  void forgive_debt(double change_steps);

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  static void pay(double& account, double more, double most);

  double balance_ = 0.0;
  double trials_ = kTrialsMost / 2;  // a new server has all to find out
};

}  // namespace holdfast::plan
