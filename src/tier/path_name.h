// PathName: 16 bytes that stand for a sequence of tokens in one space.
//
//   positions   0          64         128    150
//   names       n0 -------> n1 -------> n2 --> name of the first 150
//
//   name(0) = SHA-256("holdfast path" space)[0, 16)
//   name(p) = SHA-256(name(q) tokens[q, p))[0, 16),  q the largest multiple of 64 below p
//
// So a name depends on the space and the tokens and on nothing else, the names of a
// prompt of n tokens cost n/64 short digests, and whoever knows the name at a
// multiple of 64 can go on from there without the tokens before it.
//
// Invariants, verified by the tests of the same numbers (path_name_test.cc):
//   NAMES-1  equal spaces and tokens give equal names, however they were appended
//   NAMES-2  going on from anchors()[i] gives the names that starting from 0 gives
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "state/extent_block.h"
#include "state/space.h"
#include "state/tokens.h"
#include "tier/sha256.h"

namespace holdfast::tier {

struct PathName {
  std::array<std::byte, 16> bytes{};
  auto operator<=>(const PathName&) const = default;
};

// The largest multiple of kBlockTokens at or below a position.
[[nodiscard]] constexpr TokenPos anchor_at(TokenPos position) {
  return position - position % kBlockTokens;
}

// The name of no tokens.
[[nodiscard]] PathName root_name(SpaceKey space);

// 16 bytes, as files hold it: high, then low, little endian.
[[nodiscard]] std::array<std::byte, 16> space_bytes(SpaceKey space);

class PathNamer {
 public:
  explicit PathNamer(SpaceKey space);
  // Goes on from the name of the tokens [0, position).
  // REQUIRES: position is a multiple of kBlockTokens.
  PathNamer(PathName at, TokenPos position);

  void append(TokenSpan tokens);

  [[nodiscard]] TokenPos length() const { return length_; }
  // Of all tokens so far.
  [[nodiscard]] PathName name();
  // The names at all multiples of kBlockTokens from where it began up to length().
  [[nodiscard]] const std::vector<PathName>& anchors() const { return anchors_; }

 private:
  TokenPos length_ = 0;
  std::vector<PathName> anchors_;  // never empty
  Tokens tail_;                    // those behind the last anchor, fewer than kBlockTokens
  Sha256 sha_;
};

}  // namespace holdfast::tier
