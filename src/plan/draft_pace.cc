#include "plan/draft_pace.h"

#include <algorithm>
#include <map>
#include <utility>

namespace holdfast::plan {

namespace {

// What trials may cost: a hundredth of the time.
constexpr double kTrialShare = 0.01;
// A run of bad luck is longer than this only once in a while.
constexpr double kBalanceLeast = -2.0;
// Long enough to tell a companion that guesses the common words from a good one.
constexpr TokenPos kTrialTokens = 2;
// A trial is longer where that costs little more: all of it may be the snapshot.
constexpr double kLittleMore = 1.5;
// Estimates as close as this are equal.
constexpr double kBetter = 1.02;
// A context that grows by this many tokens has not changed a step's time by much, and
// a run of five steps without drafts in 512 loses less than a hundredth.
constexpr std::uint64_t kBaselineNotes = 512;
// A machine that is slow for a while makes what it measures then look bad: whoever begins to draft
// looks back soon, later where changes cost much, and less often each time.
constexpr double kBaselineFirst = 16.0;
constexpr double kBaselineForChange = 32.0;
// Where steps never settle, because slots come and go, a baseline gives nothing.
constexpr std::uint64_t kBaselineApart = 64;

// A draft of this length, of a request that cannot truncate it, may be wrong after each token.
void add_undoing(StepShape& shape, const PacedRequest& request, const std::vector<double>& tokens,
                 std::size_t length) {
  if (static_cast<TokenPos>(length) <= request.truncatable) return;
  const double all_right = tokens[length] - tokens[length - 1];
  const double right = tokens[length - 1] - 1.0 - static_cast<double>(length - 1) * all_right;
  shape.undone += 1.0 - all_right;
  shape.again += (1.0 - all_right) * request.waiting + right;
}

// Slots with equally many rows share a batch.
std::vector<TokenPos> batches_of(std::span<const PacedRequest> requests, BatchOthers others,
                                 TokenPos length) {
  std::map<TokenPos, TokenPos> rows_by_each;
  bool all_truncatable = true;
  for (const PacedRequest& request : requests) {
    const TokenPos own = std::min(length, request.most);
    all_truncatable = all_truncatable && own <= request.truncatable && request.waiting == 1;
    rows_by_each[request.waiting + own] += request.waiting + own;
  }
  if (all_truncatable) return {};
  std::vector<TokenPos> batches;
  for (const auto& [each, rows] : rows_by_each) batches.push_back(rows);
  if (others.rows > 0) batches.push_back(others.rows);
  return batches;
}

}  // namespace

TokenPos DraftPace::choose(std::span<const PacedRequest> requests, BatchOthers others,
                           const AcceptanceByPosition& prior) {
  settle_account();
  look_ahead(requests, others, prior);
  now_ = std::min(next(), most());
  return now_;
}

// --- what a step would be -----------------------------------------------------------

void DraftPace::look_ahead(std::span<const PacedRequest> requests, BatchOthers others,
                           const AcceptanceByPosition& prior) {
  TokenPos most = 0;
  for (const PacedRequest& request : requests) most = std::max(most, request.most);
  most = std::min(most, AcceptanceByPosition::kPositions);
  wasteful_ = std::ranges::any_of(
      requests, [](const PacedRequest& one) { return one.truncatable < one.most; });
  prospects_.assign(static_cast<std::size_t>(most) + 1,
                    {.tokens = others.tokens, .tokens_at_best = others.tokens});
  std::vector<StepShape> shapes(prospects_.size(), {.waiting = others.rows});
  for (const PacedRequest& request : requests) {
    const auto tokens =
        expected_tokens(request.seen->chances(std::min(most, request.most), &prior));
    for (std::size_t length = 0; length < shapes.size(); ++length) {
      const std::size_t own = std::min(length, tokens.size() - 1);
      prospects_[length].tokens += tokens[own];
      prospects_[length].tokens_at_best += 1.0 + static_cast<double>(own);
      shapes[length].waiting += request.waiting;
      shapes[length].asked += static_cast<TokenPos>(own);
      shapes[length].longest = static_cast<TokenPos>(length);
      shapes[length].drafting += own > 0 ? 1 : 0;
      add_undoing(shapes[length], request, tokens, own);
    }
  }
  for (std::size_t length = 0; length < shapes.size(); ++length) {
    shapes[length].batches = batches_of(requests, others, static_cast<TokenPos>(length));
    prospects_[length].ms = costs_.ms(shapes[length]);
    prospects_[length].ms_at_best = costs_.ms_at_best(shapes[length]);
    prospects_[length].undoing_ms = costs_.undoing(shapes[length]);
    prospects_[length].rows = shapes[length].waiting + shapes[length].asked;
    prospects_[length].waiting = shapes[length].waiting;
  }
}

double DraftPace::change_steps() const { return costs_.change_ms() / at(0).ms; }

// Steps after drafts that cannot be truncated are unequal, however long a run is.
int DraftPace::run_steps() const {
  return costs_.changes_cost() && !wasteful_ ? TimesBySize::kRun : 1;
}

// --- the choice -----------------------------------------------------------------------

TokenPos DraftPace::next() {
  const double step = at(std::min(now_, most())).ms / at(0).ms;
  trials_ = std::min(trials_ + kTrialShare * step, kAccountMost);
  if (costs_.steps().timeless() && why_ == Why::kBaseline) run_left_ = 0;
  if (run_left_ == 0) begin_next_run();
  --run_left_;
  return run_length_;
}

void DraftPace::begin_next_run() {
  const TokenPos before = length_;
  if (why_ != Why::kBaseline) reconsider();
  begin_run(Why::kChoice, length_, length_ == before ? 1 : run_steps());
  if (wants_baseline()) {
    begin_baseline();
  } else if (length_ == before) {
    try_out();
  }
}

bool DraftPace::wants_baseline() const {
  const TimesBySize& steps = costs_.steps();
  if (steps.timeless() || steps.notes() < no_baseline_before_) return false;
  return !steps.seen_lately(at(0).rows, here() > 0 ? baseline_every_ : steps.notes() + 1);
}

void DraftPace::begin_baseline() {
  begin_run(Why::kBaseline, 0, TimesBySize::kRun);
  no_baseline_before_ = costs_.steps().notes() + std::min(kBaselineApart, baseline_every_);
  baseline_every_ = std::min(2 * baseline_every_, kBaselineNotes);
}

void DraftPace::reconsider() {
  const TokenPos now = best();
  if (std::max(now, here()) > 0 && overdrawn()) {
    balance_ += kTrialShare;
    return change_to(0);
  }
  if (worth_changing_to(now)) change_to(now);
}

// Whoever begins has what the way there and some bad luck cost.
bool DraftPace::overdrawn() const {
  const double change = change_steps();
  return balance_ < (here() > 0 ? kBalanceLeast - 2.0 * change : std::min(kBalanceLeast, -change));
}

TokenPos DraftPace::best() const {
  TokenPos best = 0;
  for (TokenPos length = 1; length <= most(); ++length) {
    if (at(length).rate() > at(best).rate()) best = length;
  }
  return best;
}

bool DraftPace::worth_changing_to(TokenPos length) const {
  const double gain = at(length).rate() / at(here()).rate();
  const bool there_already = length == run_length_;
  const double cost = there_already ? 0.0 : costs_.change_ms();
  return gain > kBetter && (gain - 1.0) * kHorizon * at(here()).ms > cost;
}

void DraftPace::change_to(TokenPos length) {
  if (length == here()) return;
  balance_ -= change_steps();
  if (here() == 0) {
    const double first = kBaselineFirst + kBaselineForChange * change_steps();
    baseline_every_ = std::min(static_cast<std::uint64_t>(first), kBaselineNotes);
  }
  length_ = length;
}

void DraftPace::begin_run(Why why, TokenPos length, int steps) {
  why_ = why;
  run_length_ = length;
  run_left_ = steps;
  run_gained_ = 0.0;
}

// --- trials ---------------------------------------------------------------------------

void DraftPace::try_out() {
  TokenPos other = hopeful_trial();
  if (other == here()) other = longer_trial();
  const double needed = could_pay(other) ? std::min(price(other), kAccountMost) : kAccountMost;
  if (other == here() || trials_ < needed) return;
  trials_ = std::min(trials_, price(other));  // what better times have left is not for trials
  trials_ -= 2.0 * change_steps();
  begin_run(Why::kTrial, other, run_steps());
}

// A length whose cost is only guessed, and may turn out well.
TokenPos DraftPace::hopeful_trial() const {
  TokenPos best = here();
  double best_rate = kBetter * at(here()).rate();
  for (TokenPos length = 1; length <= most(); ++length) {
    const double rate = at(length).tokens / at(length).ms_at_best;
    if (costs_.steps().knows(at(length).rows) || rate <= best_rate) continue;
    best = length;
    best_rate = rate;
  }
  return best;
}

TokenPos DraftPace::longer_trial() const {
  TokenPos length = std::min(most(), here() + kTrialTokens);
  const double bearable = kLittleMore * price(length);
  while (length < most() && price(length + 1) <= bearable) ++length;
  return length;
}

// If all of it were right, or of a shorter one.
bool DraftPace::could_pay(TokenPos length) const {
  const double rate = kBetter * at(here()).rate();
  for (TokenPos tried = here() + 1; tried <= length; ++tried) {
    if (at(tried).tokens_at_best / at(tried).ms_at_best > rate) return true;
  }
  return false;
}

// Of a run, there and back again.
double DraftPace::price(TokenPos length) const {
  const double tokens = at(std::min(length, here())).tokens;  // of a longer one no more, at worst
  return run_steps() * std::max(lost(at(length).ms, tokens), 0.0) + 2.0 * change_steps();
}

// What a step of a trial loses against the choice that stands.
double DraftPace::lost(double ms, double tokens) const {
  return (ms - tokens / at(here()).rate()) / at(0).ms;
}

// --- afterwards -----------------------------------------------------------------------

void DraftPace::settle_account() {
  const auto accepted = static_cast<double>(std::exchange(accepted_, 0));
  const auto undone = static_cast<double>(std::exchange(undone_, 0));
  const auto again = static_cast<double>(std::exchange(again_, 0));
  if (prospects_.empty()) return;
  const auto pay = [](double& account, double more, double most) {
    account = std::clamp(account + more, -kAccountMost, most);
  };
  const Prospect& step = at(now_);
  const StepShape back{.waiting = step.waiting, .undone = undone, .again = again};
  const double ms = step.ms - step.undoing_ms + costs_.undoing(back);
  const double gained = accepted / at(0).tokens - (ms - at(0).ms) / at(0).ms;
  if (why_ == Why::kChoice) pay(balance_, gained, kBalanceMost);
  if (why_ != Why::kTrial) return;
  pay(trials_, -lost(ms, at(0).tokens + accepted), kAccountMost);
  run_gained_ += gained;
  if (run_left_ > 0 || run_gained_ <= 0.0) return;
  pay(balance_, run_gained_, kBalanceMost);
  if (run_steps() == 1) return;
  const double forgiven = std::max(-change_steps() - balance_, 0.0);
  pay(balance_, forgiven, kBalanceMost);
  pay(trials_, -forgiven, kAccountMost);
}

std::vector<std::string> DraftPace::check() const {
  std::vector<std::string> violations;
  if (!(balance_ <= kBalanceMost)) violations.emplace_back("DRAFT-1: the balance is too high");
  if (!(trials_ <= kAccountMost)) violations.emplace_back("DRAFT-1: too much is left for trials");
  for (const std::string& violation : costs_.check()) violations.push_back("DRAFT-2: " + violation);
  return violations;
}

}  // namespace holdfast::plan
