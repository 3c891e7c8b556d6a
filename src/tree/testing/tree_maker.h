// TreeMaker makes random paths, and the fake state that belongs to them. For tests.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "state/snapshot.h"
#include "tree/testing/tree_oracle.h"

namespace holdfast::tree {

struct KnownPath {
  SpaceKey space;
  Tokens tokens;
};

using Keys = std::vector<PrefixKey>;

class TreeMaker {
 public:
  // `tail_max`: how many tokens a new path may add. Small ones make many short
  // edges, ones beyond kBlockTokens make blocks of several cells.
  explicit TreeMaker(TokenPos tail_max) : tail_max_(tail_max) {}

  void seed(std::uint32_t value) { random_.seed(value); }
  [[nodiscard]] unsigned below(unsigned limit) {
    return limit == 0 ? 0 : static_cast<unsigned>(random_() % limit);
  }
  [[nodiscard]] bool one_in(unsigned n) { return below(n) == 0; }

  // A known path shortened and continued at random, or a new one.
  [[nodiscard]] KnownPath path(const std::vector<KnownPath>& known) {
    KnownPath made{.space = {0, below(2)}, .tokens = {}};
    if (!known.empty() && !one_in(10)) made = known[below(static_cast<unsigned>(known.size()))];
    made.tokens.resize(below(static_cast<unsigned>(made.tokens.size()) + 1));
    for (unsigned n = below(static_cast<unsigned>(tail_max_)); n > 0; --n) {
      made.tokens.push_back(static_cast<Token>(below(3)));
    }
    if (made.tokens.empty()) made.tokens.push_back(0);
    return made;
  }

  // Blocks of the path in pieces, some of them left out.
  [[nodiscard]] std::vector<ExtentBlockPtr> blocks(const Keys& keys) {
    std::vector<ExtentBlockPtr> all;
    const auto length = static_cast<TokenPos>(keys.size()) - 1;
    const unsigned absent = 1 + below(4);  // one in this many is left out
    for (TokenPos at = 0; at < length;) {
      const TokenPos cell_end = std::min((at / kBlockTokens + 1) * kBlockTokens, length);
      TokenPos end = cell_end;
      if (one_in(3))
        end = at + 1 + static_cast<TokenPos>(below(static_cast<unsigned>(cell_end - at)));
      if (absent == 1 || !one_in(absent)) all.push_back(block(keys, {at, end}));
      at = end;
    }
    return all;
  }

  [[nodiscard]] SnapshotPtr snapshot(const Keys& keys, TokenPos position) {
    std::vector<PrefixKey> content(1 + below(4), keys[position]);
    return std::make_shared<Snapshot>(position, key_bytes(content));
  }

 private:
  // The same rows are now and then offered again as the same object.
  ExtentBlockPtr block(const Keys& keys, TokenRange range) {
    ExtentBlockPtr& made = made_[{keys[range.end], range.begin}];
    if (!made || one_in(2)) {
      made = std::make_shared<ExtentBlock>(
          range, key_bytes(std::span(keys).subspan(range.begin + 1, range.length())));
    }
    return made;
  }

  TokenPos tail_max_;
  std::mt19937 random_;
  std::map<std::pair<PrefixKey, TokenPos>, ExtentBlockPtr> made_;
};

}  // namespace holdfast::tree
