#include "plan/acceptance.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::plan {

namespace {

// High enough that a new server tries.
constexpr double kFirstGuess = 0.8;
// A guess counts as much as this many tries.
constexpr double kGuessTries = 2.0;

}  // namespace

void AcceptanceByPosition::Evidence::add(double more_tries, double more_right) {
  const double kept = std::min(1.0, (kMemory - more_tries) / std::max(tries, 1.0));
  tries = kept * tries + more_tries;
  right = kept * right + more_right;
}

void AcceptanceByPosition::note(TokenPos drafted, TokenPos accepted) {
  CHECK(0 <= accepted && accepted <= drafted);
  const TokenPos right = std::min(accepted, kPositions);
  for (TokenPos i = 0; i < right; ++i) positions_[static_cast<std::size_t>(i)].add(1.0, 1.0);
  if (accepted < std::min(drafted, kPositions)) {
    positions_[static_cast<std::size_t>(accepted)].add(1.0, 0.0);
  }
}

void AcceptanceByPosition::note_missing(TokenPos position) {
  if (position < kPositions) positions_[static_cast<std::size_t>(position)].add(1.0, 0.0);
}

void AcceptanceByPosition::forget(double share) {
  for (Evidence& evidence : positions_) {
    evidence.tries *= 1.0 - share;
    evidence.right *= 1.0 - share;
  }
}

// At most half of what is known comes from one request.
void AcceptanceByPosition::fold(const AcceptanceByPosition& ended) {
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    const Evidence& more = ended.positions_[i];
    const double share = std::min(1.0, kMemory / 2 / std::max(more.tries, 1.0));
    positions_[i].add(share * more.tries, share * more.right);
  }
}

std::vector<double> AcceptanceByPosition::chances(TokenPos count,
                                                  const AcceptanceByPosition* prior) const {
  std::vector<double> all;
  std::vector<double> guesses;
  if (prior != nullptr) guesses = prior->chances(count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(count, kPositions)); ++i) {
    double guess = i == 0 ? kFirstGuess : all.back();
    if (!guesses.empty()) {
      guess = guesses[i] + (i == 0 ? 0.0 : all.back() - guesses[i - 1]);
      guess = std::clamp(guess, 0.0, 1.0);
    }
    const Evidence& seen = positions_[i];
    all.push_back((seen.right + kGuessTries * guess) / (seen.tries + kGuessTries));
  }
  return all;
}

std::vector<double> expected_tokens(const std::vector<double>& chances) {
  std::vector<double> tokens{1.0};
  double all_right = 1.0;
  for (const double chance : chances) {
    all_right *= chance;
    tokens.push_back(tokens.back() + all_right);
  }
  return tokens;
}

std::vector<std::string> AcceptanceByPosition::check() const {
  std::vector<std::string> violations;
  constexpr double kRounding = 1e-9;
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    const auto& [tries, right] = positions_[i];
    if (right < 0.0 || right > tries + kRounding || tries > kMemory + kRounding) {
      violations.push_back("ACCEPT-1: position " + std::to_string(i) + " has odd evidence");
    }
  }
  for (const double chance : chances(kPositions)) {
    if (!(chance >= 0.0 && chance <= 1.0))
      violations.emplace_back("ACCEPT-2: a chance beyond 0 .. 1");
  }
  return violations;
}

}  // namespace holdfast::plan
