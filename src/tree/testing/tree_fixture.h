// Short ways to build trees from letters. For tests.
//
// A path is a string: each letter is a token. Rows and snapshots are a byte for
// each token, unless a test says how many.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tree/token_tree.h"

namespace holdfast::tree {

inline constexpr SpaceKey kSpace{1, 1};
inline constexpr StateNeeds kHybrid{.blocks = true, .snapshot = true};
inline constexpr StateNeeds kAttention{.blocks = true, .snapshot = false};
inline constexpr StateNeeds kRecurrent{.blocks = false, .snapshot = true};

inline Tokens letters(std::string_view text) { return {text.begin(), text.end()}; }

inline ExtentBlockPtr make_block(TokenPos begin, TokenPos end, std::size_t bytes = 0) {
  if (bytes == 0) bytes = static_cast<std::size_t>(end - begin);
  return std::make_shared<ExtentBlock>(TokenRange{begin, end}, StateBytes(bytes));
}
inline SnapshotPtr make_snapshot(TokenPos position, std::size_t bytes = 100) {
  return std::make_shared<Snapshot>(position, StateBytes(bytes));
}

class TokenTreeFixture : public ::testing::Test {
 protected:
  // What a test commits; the rest is filled in.
  struct Given {
    std::vector<ExtentBlockPtr> blocks;
    std::vector<SnapshotPtr> snapshots;
    std::vector<PlacedHints> marks;
  };

  Committed commit(TokenTree& tree, std::string_view path, const Given& given = {}) {
    const Tokens tokens = letters(path);
    return tree.commit({kSpace, tokens, given.blocks, given.snapshots, given.marks, ++now_});
  }
  // The node at the end of the path.
  static NodeId at(const TokenTree& tree, std::string_view path) {
    const Match match = tree.match(kSpace, letters(path));
    const bool there = !match.stops.empty() && match.stops.back().position == match.length;
    return there ? match.stops.back().node : NodeId{};
  }
  static NodeFacts facts(const TokenTree& tree, std::string_view path) {
    return tree.facts(at(tree, path));
  }
  EvictionNote budget() const { return {EvictReason::kBudget, now_}; }

  static void expect_sound(const TokenTree& tree) {
    EXPECT_EQ(tree.check(), std::vector<std::string>{});
  }

  Tick now_ = 0;
};

}  // namespace holdfast::tree
