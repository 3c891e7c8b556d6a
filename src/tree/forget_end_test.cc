// Forgetting what one conversation has for itself: others keep all that they had.
#include <gtest/gtest.h>

#include <random>

#include "tree/testing/tree_fixture.h"
#include "tree/token_tree.h"

namespace holdfast::tree {
namespace {

class ForgetEnd : public TokenTreeFixture {
 protected:
  // `own`: how much of the path is its latest prompt.
  static TokenPos forget(TokenTree& tree, std::string_view path, TokenPos own, TokenPos keep = 0) {
    return tree.forget_end({kSpace, letters(path), own, keep});
  }
  static TokenPos known(const TokenTree& tree, std::string_view path) {
    return tree.match(kSpace, letters(path)).matched;
  }
};

TEST_F(ForgetEnd, APathThatNobodySharesIsGone) {
  TokenTree tree(kHybrid);
  commit(tree, "ssssuuaaa",
         {.blocks = {make_block(0, 6)}, .snapshots = {make_snapshot(4), make_snapshot(6)}});
  EXPECT_EQ(forget(tree, "ssssuuaaa", 6), 0);
  EXPECT_EQ(tree.bytes().resident, 0U);
  EXPECT_EQ(tree.counts().tokens, 0U);
  EXPECT_EQ(forget(tree, "ssssuuaaa", 6), 0);  // there is nothing any more
  expect_sound(tree);
}

TEST_F(ForgetEnd, WhatOthersBeginWithStays) {
  TokenTree tree(kHybrid);
  commit(tree, "ssssuu", {.blocks = {make_block(0, 6)}, .snapshots = {make_snapshot(6)}});
  commit(tree, "ssssvv",
         {.blocks = {make_block(4, 6)}, .snapshots = {make_snapshot(4), make_snapshot(6)}});
  EXPECT_EQ(forget(tree, "ssssuu", 6), 4);
  EXPECT_EQ(known(tree, "ssssuu"), 4);
  EXPECT_EQ(tree.match(kSpace, letters("ssssvv")).restorable(6), 6);
  EXPECT_EQ(tree.match(kSpace, letters("ssssuu")).restorable(6), 4);
  expect_sound(tree);
}

// A pre-warmed answer, or an older one to the same prompt.
TEST_F(ForgetEnd, HoweverThePromptWentOnItIsForgotten) {
  TokenTree tree(kHybrid);
  commit(tree, "ssuuhaaa", {.blocks = {make_block(0, 8)}, .snapshots = {make_snapshot(5)}});
  commit(tree, "ssuuhbbb", {.blocks = {make_block(5, 8)}, .snapshots = {make_snapshot(8)}});
  EXPECT_EQ(forget(tree, "ssuuhaaa", 5), 0);
  EXPECT_EQ(known(tree, "ssuuhbbb"), 0);
  EXPECT_EQ(tree.bytes().resident, 0U);
  expect_sound(tree);
}

TEST_F(ForgetEnd, WhatIsPinnedOrKeptStaysWithAllAbove) {
  TokenTree tree(kHybrid);
  commit(tree, "ssuu",
         {.blocks = {make_block(0, 4)}, .snapshots = {make_snapshot(2), make_snapshot(4)}});
  {
    const Pin pin = tree.pin(at(tree, "ssuu"));
    EXPECT_EQ(forget(tree, "ssuu", 4), 4);
  }
  EXPECT_EQ(forget(tree, "ssuu", 4, 2), 2);
  EXPECT_EQ(forget(tree, "ssuu", 4, 1), 2);  // the edge of [0, 2) is needed by somebody
  EXPECT_EQ(forget(tree, "ssuu", 4), 0);
  expect_sound(tree);
}

TEST_F(ForgetEnd, APathThatPartsBeforeItsOwnPartIsAnothers) {
  TokenTree tree(kHybrid);
  commit(tree, "ssssvvvv", {.blocks = {make_block(0, 8)}, .snapshots = {make_snapshot(8)}});
  EXPECT_EQ(forget(tree, "ssssuuuu", 8), 4);
  EXPECT_EQ(tree.match(kSpace, letters("ssssvvvv")).restorable(8), 8);
  expect_sound(tree);
}

// The oracle is a list: a path loses what no path that parts before `own` begins with.
TEST_F(ForgetEnd, RandomPathsLoseNothingOfOthers) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    TokenTree tree(kHybrid);
    std::vector<std::string> paths;
    for (int i = 0; i < 6; ++i) {
      std::string path;
      for (int j = 0; j < 8; ++j) path += static_cast<char>('a' + random() % 2);
      commit(tree, path, {.blocks = {make_block(0, 8)}, .snapshots = {make_snapshot(8)}});
      paths.push_back(path);
    }
    const std::string mine = paths[random() % paths.size()];
    const auto own = static_cast<TokenPos>(1 + random() % 8);
    const TokenPos left = forget(tree, mine, own);
    TokenPos shared = 0;
    for (const std::string& path : paths) {
      const TokenPos common = common_prefix(letters(path), letters(mine));
      if (common >= own) continue;
      shared = std::max(shared, common);
      EXPECT_EQ(tree.match(kSpace, letters(path)).restorable(8), 8) << seed << ' ' << path;
    }
    EXPECT_EQ(left, shared) << seed << ' ' << mine << ' ' << own;
    EXPECT_EQ(known(tree, mine), shared) << seed;
    expect_sound(tree);
  }
}

}  // namespace
}  // namespace holdfast::tree
