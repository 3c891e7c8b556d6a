// Drafts: tokens that a companion proposes (engine/companion.h), how many a request
// allows, and how many were right.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "state/tokens.h"

namespace holdfast {

// Where drafts come from: the model's own multi-token head, a small model, what was
// said before.
enum class DraftSource { kAuto, kMtp, kDraft, kNgram, kOff };

struct DraftLimits {
  TokenPos max = 16;     // tokens of a draft at most; 0: none
  TokenPos min = 0;      // a shorter draft is not tried
  float p_min = 0.0F;    // least probability of a drafted token, as the companion sees it
  bool adaptive = true;  // fewer, or none, where that is faster
};

// How many tokens were drafted and how many of them the primary chose itself, in
// all and by their rank in it: the first, second, ... token.
struct DraftCounts {
  static constexpr std::size_t kRanks = 16;  // the last one stands for all beyond it

  // A token of a rank counts as tried when all before it were accepted.
  struct Rank {
    std::uint64_t tried = 0;
    std::uint64_t accepted = 0;
    bool operator==(const Rank&) const = default;
  };

  std::uint64_t drafted = 0;
  std::uint64_t accepted = 0;
  std::array<Rank, kRanks> ranks{};

  void note(std::size_t draft, std::size_t kept) {
    drafted += draft;
    accepted += kept;
    for (std::size_t i = 0; i < std::min(draft, kept + 1); ++i) {
      Rank& rank = ranks[std::min(i, kRanks - 1)];
      ++rank.tried;
      if (i < kept) ++rank.accepted;
    }
  }

  DraftCounts& operator+=(const DraftCounts& other) {
    drafted += other.drafted;
    accepted += other.accepted;
    for (std::size_t i = 0; i < kRanks; ++i) {
      ranks[i].tried += other.ranks[i].tried;
      ranks[i].accepted += other.ranks[i].accepted;
    }
    return *this;
  }
  bool operator==(const DraftCounts&) const = default;
};

}  // namespace holdfast
