#include "plan/draft_pace.h"

#include <utility>

namespace holdfast::plan {

namespace {

// What a change costs has to come back within this many steps.
constexpr double kHorizon = 32.0;

}  // namespace

TokenPos DraftPace::choose(std::span<const PacedRequest> requests, BatchOthers others,
                           const AcceptanceByPosition& prior) {
  settle_accounts();
  prospects_ = StepProspects(requests, others, prior, costs_);
  now_ = std::min(next(), prospects_.most());
  return now_;
}

// --- the choice -----------------------------------------------------------------------

TokenPos DraftPace::next() {
  const Prospect& before = prospects_.at(std::min(now_, prospects_.most()));
  accounts_.pay_share_of(before.ms / prospects_.at(0).ms);
  if (costs_.steps().timeless() && run_.why == Run::Why::kBaseline) run_.left = 0;
  if (run_.left == 0) begin_next_run();
  --run_.left;
  return run_.length;
}

void DraftPace::begin_next_run() {
  const TokenPos before = length_;
  if (run_.why != Run::Why::kBaseline) reconsider();
  run_ = {Run::Why::kChoice, length_, length_ == before ? 1 : prospects_.run_steps(costs_)};
  if (baselines_.due(costs_.steps(), prospects_.at(0).rows, here() > 0)) {
    run_ = {Run::Why::kBaseline, 0, SizeRun::kWhole};
    baselines_.begin(costs_.steps().notes());
  } else if (length_ == before) {
    try_out();
  }
}

void DraftPace::reconsider() {
  const TokenPos now = prospects_.best();
  if (std::max(now, here()) > 0 && accounts_.overdrawn(here() > 0, change_steps())) {
    accounts_.pay_off();
    return change_to(0);
  }
  if (worth_changing_to(now)) change_to(now);
}

bool DraftPace::worth_changing_to(TokenPos length) const {
  const Prospect& stands = prospects_.at(here());
  const double gain = prospects_.at(length).rate() / stands.rate();
  const bool there_already = length == run_.length;
  const double cost = there_already ? 0.0 : costs_.change_ms();
  return gain > kBetterRate && (gain - 1.0) * kHorizon * stands.ms > cost;
}

void DraftPace::change_to(TokenPos length) {
  if (length == here()) return;
  accounts_.pay_change(change_steps());
  if (here() == 0) baselines_.note_drafting(change_steps());
  length_ = length;
}

void DraftPace::try_out() {
  const TokenPos other = trials().length();
  const double price = trials().price(other);
  if (other == here() || !accounts_.bears_trial(price, trials().could_pay(other))) return;
  accounts_.begin_trial(price, change_steps());
  run_ = {Run::Why::kTrial, other, prospects_.run_steps(costs_)};
}

// --- afterwards -----------------------------------------------------------------------

void DraftPace::settle_accounts() {
  const Came came = std::exchange(came_, {});
  if (prospects_.empty()) return;
  const Prospect& step = prospects_.at(now_);
  const Prospect& plain = prospects_.at(0);
  const StepShape back{.waiting = step.waiting,
                       .undone = static_cast<double>(came.undone),
                       .again = static_cast<double>(came.again)};
  const double ms = step.ms - step.undoing_ms + costs_.undoing(back);
  const auto accepted = static_cast<double>(came.accepted);
  const double gained = accepted / plain.tokens - (ms - plain.ms) / plain.ms;
  if (run_.why == Run::Why::kChoice) accounts_.gain(gained);
  if (run_.why != Run::Why::kTrial) return;
  accounts_.lose_in_trial(trials().lost(ms, plain.tokens + accepted));
  run_.gained += gained;
  if (run_.left > 0 || run_.gained <= 0.0) return;
  accounts_.gain(run_.gained);
  if (prospects_.run_steps(costs_) > 1) accounts_.forgive_debt(change_steps());
}

std::vector<std::string> DraftPace::check() const {
  std::vector<std::string> violations;
  for (const auto& part : {accounts_.check(), baselines_.check(), prospects_.check()}) {
    for (const std::string& violation : part) violations.push_back("DRAFT-1: " + violation);
  }
  for (const std::string& violation : costs_.check()) violations.push_back("DRAFT-2: " + violation);
  const bool allowed = prospects_.empty() ? now_ == 0 : now_ >= 0 && now_ <= prospects_.most();
  if (!allowed) violations.emplace_back("DRAFT-3: no request allows what was chosen");
  if (run_.left < 0) violations.emplace_back("DRAFT-3: a run is longer than it was meant to be");
  return violations;
}

}  // namespace holdfast::plan
