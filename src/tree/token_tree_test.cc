#include "tree/token_tree.h"

#include <gtest/gtest.h>

#include "tree/testing/tree_fixture.h"

namespace holdfast::tree {
namespace {

class TREE1 : public TokenTreeFixture {};
class TREE2 : public TokenTreeFixture {};
class TREE3 : public TokenTreeFixture {};
class TREE4 : public TokenTreeFixture {};
class TREE5 : public TokenTreeFixture {};
class TREE6 : public TokenTreeFixture {};

TEST(TokenTreeNeeds, FollowFromThePartsOfTheState) {
  const auto needs = [](std::vector<Part> parts) {
    const StateNeeds all = StateNeeds::of({.parts = std::move(parts)});
    return std::pair(all.blocks, all.snapshot);
  };
  const Part extent{.kind = PartKind::kExtent, .bytes_per_token = 8};
  const Part empty_extent{.kind = PartKind::kExtent};
  const Part window{.kind = PartKind::kWindow};
  const Part recurrent{.kind = PartKind::kSnapshot};
  EXPECT_EQ(needs({extent}), std::pair(true, false));
  EXPECT_EQ(needs({extent, window}), std::pair(true, true));
  EXPECT_EQ(needs({empty_extent, window}), std::pair(false, true)) << "rows without a byte";
  EXPECT_EQ(needs({extent, recurrent}), std::pair(true, true));
  EXPECT_EQ(needs({recurrent}), std::pair(false, true));
  EXPECT_STREQ(evict_reason_name(EvictReason::kBudget), "budget");
}

TEST_F(TREE1, SiblingsDifferInTheirFirstToken) {
  TokenTree tree(kAttention);
  commit(tree, "system user one");
  const Committed second = commit(tree, "system user two");
  EXPECT_EQ(tree.facts(second.junction).range, (TokenRange{0, 12}));
  commit(tree, "system admin");
  EXPECT_EQ(facts(tree, "system user ").children, 2U);
  EXPECT_EQ(facts(tree, "system ").children, 2U);
  EXPECT_EQ(tree.match(kSpace, letters("system adverb")).matched, 9);
  expect_sound(tree);
}

TEST_F(TREE1, ManyChildrenAreFoundAndForgottenOneByOne) {
  TokenTree tree(kRecurrent);
  constexpr Token kChildren = 500;
  for (Token i = 0; i < kChildren; ++i) {
    const Tokens tokens{7, (i * 37) % kChildren, i};
    tree.commit({.space = kSpace, .tokens = tokens, .now = ++now_});
  }
  for (Token i = 0; i < kChildren; ++i) {
    EXPECT_EQ(tree.match(kSpace, Tokens{7, (i * 37) % kChildren, i}).matched, 3);
  }
  expect_sound(tree);
  for (Token i = 0; i < kChildren; ++i) tree.trim_ghost(tree.counts().ghost_tokens - 1);
  EXPECT_EQ(tree.counts().nodes, 0U);
  expect_sound(tree);
}

TEST_F(TREE2, SpacesShareNothing) {
  TokenTree tree(kRecurrent);
  commit(tree, "hello", {.snapshots = {make_snapshot(5)}});
  EXPECT_EQ(tree.match(SpaceKey{1, 2}, letters("hello")).matched, 0);
  EXPECT_EQ(tree.match(SpaceKey{2, 1}, letters("hello")).matched, 0);
  EXPECT_EQ(tree.match(kSpace, letters("hello")).restorable(5), 5);
}

TEST_F(TREE2, AnEmptySpaceLeavesNothingBehind) {
  TokenTree tree(kAttention);
  commit(tree, "abc");
  EXPECT_EQ(tree.counts().nodes, 2U);
  EXPECT_EQ(tree.trim_ghost(0), 3U);
  EXPECT_EQ(tree.counts().nodes, 0U);
  expect_sound(tree);
}

TEST_F(TREE3, ABlockIsChargedOnceHoweverManyEdgesUseIt) {
  TokenTree tree(kHybrid);
  const Committed first = commit(tree, "aaaaaaaa", {.blocks = {make_block(0, 8, 80)}});
  EXPECT_EQ(first.new_bytes, 80U);
  // Two forks cut the edge in three.
  commit(tree, "aaaaab");
  commit(tree, "aab");
  EXPECT_EQ(tree.bytes().resident, 80U);
  EXPECT_EQ(facts(tree, "aaaaa").block_bytes, 0U);  // others use it too
  // It goes with its last user.
  EXPECT_EQ(tree.evict_rows(at(tree, "aaaaaaaa"), 0, budget()), 0U);
  EXPECT_EQ(tree.evict_rows(at(tree, "aa"), 0, budget()), 0U);
  EXPECT_EQ(facts(tree, "aaaaa").block_bytes, 80U);
  EXPECT_EQ(tree.evict_rows(at(tree, "aaaaa"), 0, budget()), 80U);
  EXPECT_EQ(tree.bytes().resident, 0U);
  expect_sound(tree);
}

TEST_F(TREE3, OneSnapshotAtTwoPlacesIsChargedOnce) {
  TokenTree tree(kHybrid);
  const SnapshotPtr both = make_snapshot(4, 100);
  commit(tree, "abcd", {.snapshots = {both}});
  commit(tree, "abxy", {.snapshots = {both}});
  EXPECT_EQ(tree.bytes(ByteKind::kSnapshots).resident, 100U);
  EXPECT_EQ(facts(tree, "abcd").snapshot_bytes, 0U);  // another place uses it too
  EXPECT_EQ(tree.evict_snapshot(at(tree, "abcd"), budget()), 0U);
  EXPECT_EQ(facts(tree, "abxy").snapshot_bytes, 100U);
  EXPECT_EQ(tree.evict_snapshot(at(tree, "abxy"), budget()), 100U);
  EXPECT_EQ(tree.bytes(), ByteTotals{});
  expect_sound(tree);
}

TEST_F(TREE3, PinnedAndEvictableAddUp) {
  TokenTree tree(kHybrid);
  commit(tree, "aaaa", {.blocks = {make_block(0, 4, 40)}, .snapshots = {make_snapshot(4)}});
  commit(tree, "aabb", {.blocks = {make_block(2, 4, 20)}});
  const Pin pin = tree.pin(at(tree, "aabb"));
  EXPECT_EQ(tree.bytes(ByteKind::kBlocks), (ByteTotals{.resident = 60, .pinned = 60}));
  EXPECT_EQ(tree.bytes(ByteKind::kSnapshots), (ByteTotals{.resident = 100, .pinned = 0}));
  EXPECT_EQ(tree.bytes().evictable(), 100U);
  expect_sound(tree);
}

TEST_F(TREE4, AncestorsOfAPinnedNodeArePinned) {
  TokenTree tree(kHybrid);
  commit(tree, "ab", {.blocks = {make_block(0, 2)}, .snapshots = {make_snapshot(2)}});
  commit(tree, "abcd", {.blocks = {make_block(2, 4)}, .snapshots = {make_snapshot(4)}});
  {
    Pin outer;
    Pin pin = tree.pin(tree.match(kSpace, letters("abcdx")).node);
    outer = std::move(pin);
    EXPECT_EQ(tree.counts().pins, 1U);  // a moved Pin is empty
    pin.release();                      // NOLINT(bugprone-use-after-move): and does nothing
    EXPECT_EQ(tree.counts().pins, 1U);
    EXPECT_EQ(tree.evict_snapshot(at(tree, "ab"), budget()), std::nullopt);
    EXPECT_EQ(tree.evict_rows(at(tree, "ab"), 0, budget()), std::nullopt);
    EXPECT_FALSE(tree.oldest(Held::kSnapshot));
    expect_sound(tree);
  }
  EXPECT_EQ(tree.counts().pins, 0U);
  EXPECT_EQ(tree.evict_snapshot(at(tree, "ab"), budget()), 100U);
}

TEST_F(TREE4, ASplitPinnedEdgeStaysPinnedWhole) {
  TokenTree tree(kHybrid);
  commit(tree, "abcdef", {.blocks = {make_block(0, 6)}});
  const Pin pin = tree.pin(at(tree, "abcdef"));
  commit(tree, "abcx");
  EXPECT_TRUE(facts(tree, "abc").pinned);
  EXPECT_TRUE(facts(tree, "abcdef").pinned);
  EXPECT_FALSE(facts(tree, "abcx").pinned);
  EXPECT_EQ(tree.bytes().evictable(), 0U);
  expect_sound(tree);
}

TEST_F(TREE4, APinKeepsTokensFromBeingForgotten) {
  TokenTree tree(kHybrid);
  commit(tree, "abc");
  Pin pin = tree.pin(at(tree, "abc"));
  EXPECT_EQ(tree.trim_ghost(0), 0U);
  pin.release();
  EXPECT_EQ(tree.trim_ghost(0), 3U);
}

TEST_F(TREE4, APinOfNothingHoldsNothing) {
  TokenTree tree(kHybrid);
  const Pin none = tree.pin(tree.match(kSpace, letters("abc")).node);
  EXPECT_EQ(tree.counts().pins, 0U);
}

TEST_F(TREE5, WhatIsThereStaysAndNewcomersFillTheGaps) {
  TokenTree tree(kAttention);
  const auto early = make_block(2, 4);
  commit(tree, "aaaaaa", {.blocks = {early}});
  const auto late = make_block(0, 6);
  EXPECT_EQ(commit(tree, "aaaaaa", {.blocks = {late}}).new_bytes, 6U);
  const auto rows = tree.path(at(tree, "aaaaaa")).rows(6);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].block, late);
  EXPECT_EQ(rows[1].block, early);
  EXPECT_EQ(rows[1].range, (TokenRange{2, 4}));
  EXPECT_EQ(rows[2].range, (TokenRange{4, 6}));
  EXPECT_EQ(commit(tree, "aaaaaa", {.blocks = {make_block(0, 6)}}).new_bytes, 0U);
  expect_sound(tree);
}

// A block's rows beyond a fork belong to the other branch: when that branch has
// been forgotten and the edges are one again, they must not come back.
TEST_F(TREE5, RowsOfAForgottenBranchAreNotTakenForOurs) {
  TokenTree tree(kAttention);
  const auto theirs = make_block(0, 6);
  commit(tree, "aaaabb", {.blocks = {theirs}});
  commit(tree, "aaaacc");
  tree.evict_rows(at(tree, "aaaabb"), 0, budget());
  commit(tree, "aaaacc");
  EXPECT_EQ(tree.trim_ghost(2), 2U);
  commit(tree, "aaaacc", {.blocks = {make_block(5, 6)}});
  EXPECT_EQ(facts(tree, "aaaacc").range, (TokenRange{0, 6}));
  EXPECT_EQ(tree.match(kSpace, letters("aaaacc")).covered, 4);
  EXPECT_EQ(tree.path(at(tree, "aaaacc")).gaps(6), (std::vector<TokenRange>{{4, 5}}));
  expect_sound(tree);
}

// What comes back from a file may be a part of a block.
TEST_F(TREE5, OnlyTheUsedRowsOfABlockAreTaken) {
  TokenTree tree(kAttention);
  const Tokens path = letters("aaaaaa");
  const std::vector<BlockUse> uses = {{make_block(0, 4), {0, 3}}, {make_block(3, 8), {3, 5}}};
  tree.commit({.space = kSpace, .tokens = path, .now = ++now_, .uses = uses});
  EXPECT_EQ(tree.match(kSpace, path).covered, 5);
  EXPECT_EQ(tree.path(at(tree, "aaaaaa")).gaps(6), (std::vector<TokenRange>{{5, 6}}));
  EXPECT_EQ(tree.bytes().resident, 9U);  // blocks are held whole
  expect_sound(tree);
}

TEST_F(TREE6, ASplitMovesNoSnapshot) {
  TokenTree tree(kRecurrent);
  const auto held = make_snapshot(6);
  const NodeId node = commit(tree, "abcdef", {.snapshots = {held}}).node;
  commit(tree, "abx");
  EXPECT_EQ(tree.snapshot(node), held);
  EXPECT_EQ(tree.facts(node).range, (TokenRange{2, 6}));
  EXPECT_EQ(tree.snapshot(at(tree, "ab")), nullptr);
}

TEST_F(TREE6, ASnapshotInsideAnEdgeMakesANodeThere) {
  TokenTree tree(kRecurrent);
  const NodeId node = commit(tree, "abcdef").node;
  const auto first = make_snapshot(4);
  const NodeId there = commit(tree, "abcd", {.snapshots = {first}}).node;
  EXPECT_EQ(there, at(tree, "abcd"));
  EXPECT_EQ(commit(tree, "abcd", {.snapshots = {make_snapshot(4)}}).node, there);
  EXPECT_EQ(tree.snapshot(there), first);  // what is there stays
  EXPECT_TRUE(tree.alive(node));
  expect_sound(tree);
}

TEST_F(TREE6, CommittingTwiceIsCommittingOnce) {
  TokenTree tree(kHybrid);
  const Given given{.blocks = {make_block(0, 64), make_block(64, 100)},
                    .snapshots = {make_snapshot(70), make_snapshot(100)},
                    .marks = {{80, Hint::kMessageEnd}}};
  const std::string path(100, 'x');
  commit(tree, path, given);
  const auto nodes = tree.counts().nodes;
  const Committed again = commit(tree, path, given);
  EXPECT_EQ(again.new_bytes, 0U);
  EXPECT_EQ(again.new_tokens, 0);
  EXPECT_EQ(tree.counts().nodes, nodes);
  EXPECT_FALSE(again.junction);
  expect_sound(tree);
}

class ForgetSpace : public TokenTreeFixture {};

TEST_F(ForgetSpace, ForgetsAllOfOneSpaceAndNothingOfAnother) {
  TokenTree tree(kHybrid);
  const std::string path(100, 'x');
  const Given given{.blocks = {make_block(0, 64), make_block(64, 100)},
                    .snapshots = {make_snapshot(70), make_snapshot(100)},
                    .marks = {{80, Hint::kMessageEnd}}};
  commit(tree, path, given);
  commit(tree, path.substr(0, 90) + "a branch", {});
  const Tokens other = letters("another's");
  tree.commit({.space = SpaceKey{7, 9}, .tokens = other, .now = ++now_});
  const ByteCount held = tree.bytes().resident;
  EXPECT_EQ(tree.conversations(10, SpaceKey{7, 9}).count, 0U) << "it holds no bytes";
  EXPECT_EQ(tree.conversations(10, kSpace).count, tree.conversations(10).count);
  EXPECT_GT(held, 0U);
  EXPECT_EQ(tree.forget_end({.space = kSpace}), 0);
  expect_sound(tree);
  EXPECT_EQ(tree.bytes().resident, 0U);
  EXPECT_EQ(tree.match(kSpace, letters(path)).matched, 0);
  EXPECT_EQ(tree.match(SpaceKey{7, 9}, other).matched, length_of(other));
  EXPECT_EQ(tree.forget_end({.space = kSpace}), 0) << "there is nothing left";
}

}  // namespace
}  // namespace holdfast::tree
