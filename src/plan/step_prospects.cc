#include "plan/step_prospects.h"

#include <algorithm>
#include <map>

namespace holdfast::plan {

namespace {

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

TokenPos longest_draft(std::span<const PacedRequest> requests) {
  TokenPos most = 0;
  for (const PacedRequest& request : requests) most = std::max(most, request.most);
  return std::min(most, AcceptanceByPosition::kPositions);
}

}  // namespace

StepProspects::StepProspects(std::span<const PacedRequest> requests, BatchOthers others,
                             const AcceptanceByPosition& prior, const DraftCosts& costs) {
  const TokenPos most = longest_draft(requests);
  wasteful_ = std::ranges::any_of(
      requests, [](const PacedRequest& one) { return one.truncatable < one.most; });
  by_length_.assign(static_cast<std::size_t>(most) + 1,
                    {.tokens = others.tokens, .tokens_at_best = others.tokens});
  std::vector<StepShape> shapes(by_length_.size(), {.waiting = others.rows});
  for (const PacedRequest& request : requests) {
    const auto tokens =
        expected_tokens(request.seen->chances(std::min(most, request.most), &prior));
    for (std::size_t length = 0; length < shapes.size(); ++length) {
      const std::size_t own = std::min(length, tokens.size() - 1);
      by_length_[length].tokens += tokens[own];
      by_length_[length].tokens_at_best += 1.0 + static_cast<double>(own);
      shapes[length].waiting += request.waiting;
      shapes[length].asked += static_cast<TokenPos>(own);
      shapes[length].longest = static_cast<TokenPos>(length);
      shapes[length].drafting += own > 0 ? 1 : 0;
      add_undoing(shapes[length], request, tokens, own);
    }
  }
  for (std::size_t length = 0; length < shapes.size(); ++length) {
    shapes[length].batches = batches_of(requests, others, static_cast<TokenPos>(length));
    by_length_[length].ms = costs.ms(shapes[length]);
    by_length_[length].ms_at_best = costs.ms_at_best(shapes[length]);
    by_length_[length].undoing_ms = costs.undoing(shapes[length]);
    by_length_[length].rows = shapes[length].waiting + shapes[length].asked;
    by_length_[length].waiting = shapes[length].waiting;
  }
}

TokenPos StepProspects::best() const {
  TokenPos best = 0;
  for (TokenPos length = 1; length <= most(); ++length) {
    if (at(length).rate() > at(best).rate()) best = length;
  }
  return best;
}

// Steps after drafts that cannot be truncated are unequal, however long a run is.
int StepProspects::run_steps(const DraftCosts& costs) const {
  return costs.changes_cost() && !wasteful_ ? SizeRun::kWhole : 1;
}

std::vector<std::string> StepProspects::check() const {
  std::vector<std::string> violations;
  for (TokenPos length = 0; length <= most(); ++length) {
    const std::string named = "a draft of " + std::to_string(length);
    if (length > 0 && at(length).tokens < at(length - 1).tokens) {
      violations.push_back("PROSPECT-1: " + named + " yields less than a shorter one");
    }
    if (at(length).tokens > at(length).tokens_at_best) {
      violations.push_back("PROSPECT-2: " + named + " yields more than it has");
    }
  }
  return violations;
}

}  // namespace holdfast::plan
