// Matching, coverage, the ghost, ages and notes (TREE-7 to TREE-13).
#include <gtest/gtest.h>

#include "tree/testing/tree_fixture.h"
#include "tree/token_tree.h"

namespace holdfast::tree {
namespace {

class TREE7 : public TokenTreeFixture {};
class TREE8 : public TokenTreeFixture {};
class TREE9 : public TokenTreeFixture {};
class TREE10 : public TokenTreeFixture {};
class TREE11 : public TokenTreeFixture {};
class TREE12 : public TokenTreeFixture {};
class TREE13 : public TokenTreeFixture {};
class TokenTreeCommon : public TokenTreeFixture {
 protected:
  // Capitals in `other` stand for tokens that need not be read.
  static TokenPos common(const TokenTree& tree, std::string_view prompt, const Filed& filed,
                         std::string_view other) {
    const Tokens tokens = letters(prompt);
    return tree.common(tree.match(kSpace, tokens), tokens, filed, letters(other));
  }
};

TEST_F(TREE7, AttentionIsRestorableUpToTheFirstGap) {
  TokenTree tree(kAttention);
  commit(tree, "aaaaaaaa", {.blocks = {make_block(0, 3), make_block(4, 8)}});
  const Match match = tree.match(kSpace, letters("aaaaaaab"));
  EXPECT_EQ(match.matched, 7);
  EXPECT_EQ(match.covered, 3);
  EXPECT_EQ(match.restorable(7), 3);
  EXPECT_EQ(match.restorable(2), 2);
  EXPECT_TRUE(match.leaves_known_path);
}

TEST_F(TREE7, AHybridNeedsRowsBelowAndASnapshotAtThePlace) {
  TokenTree tree(kHybrid);
  commit(tree, "aaaaaa",
         {.blocks = {make_block(0, 5)},
          .snapshots = {make_snapshot(2), make_snapshot(4), make_snapshot(6)}});
  const Match match = tree.match(kSpace, letters("aaaaaa"));
  EXPECT_EQ(match.restorable(6), 4);
  EXPECT_EQ(match.restorable(3), 2);
  EXPECT_EQ(match.restorable(1), 0);
  ASSERT_EQ(match.stops.size(), 3U);
  EXPECT_TRUE(match.stops[2].has_snapshot);
  EXPECT_FALSE(match.stops[2].restorable);
}

TEST_F(TREE7, ARecurrentModelNeedsNoRows) {
  TokenTree tree(kRecurrent);
  commit(tree, "aaaaaa", {.snapshots = {make_snapshot(4)}});
  EXPECT_EQ(tree.match(kSpace, letters("aaaaab")).restorable(6), 4);
  EXPECT_EQ(tree.match(kSpace, letters("aaab")).restorable(4), 0);
}

TEST_F(TREE7, AGapAboveUnreachesAllBelowUntilItIsFilled) {
  TokenTree tree(kHybrid);
  commit(tree, "ab", {.blocks = {make_block(0, 2)}, .snapshots = {make_snapshot(2)}});
  commit(tree, "abcd", {.blocks = {make_block(2, 4)}, .snapshots = {make_snapshot(4)}});
  EXPECT_EQ(facts(tree, "abcd").recompute, 2);
  tree.evict_rows(at(tree, "ab"), 1, budget());
  EXPECT_FALSE(facts(tree, "abcd").restorable);
  EXPECT_EQ(facts(tree, "abcd").recompute, 4);
  EXPECT_EQ(tree.path(at(tree, "abcd")).gaps(4), (std::vector<TokenRange>{{1, 2}}));
  commit(tree, "ab", {.blocks = {make_block(1, 2)}});
  EXPECT_TRUE(facts(tree, "abcd").restorable);
  EXPECT_EQ(facts(tree, "abcd").recompute, 2);
  expect_sound(tree);
}

TEST_F(TREE7, RowsBelongInEqualPartsToTheStatesThatNeedThem) {
  TokenTree tree(kHybrid);
  commit(tree, "abcdef",
         {.blocks = {make_block(0, 6)},
          .snapshots = {make_snapshot(2), make_snapshot(4), make_snapshot(6)}});
  EXPECT_EQ(facts(tree, "abcdef").shared, 2) << "what lies above belongs to the state above";
  EXPECT_EQ(facts(tree, "abcdef").shared_bytes, 2 * make_block(0, 6)->size() / 6);
  tree.evict_snapshot(at(tree, "abcd"), budget());
  EXPECT_EQ(facts(tree, "abcdef").shared, 4);
  tree.evict_snapshot(at(tree, "ab"), budget());
  commit(tree, "abcdxy", {.snapshots = {make_snapshot(6)}});
  EXPECT_EQ(facts(tree, "abcdef").shared, 2 + 4 / 2) << "half of abcd";
  EXPECT_EQ(tree.tips_sharing(at(tree, "abcd"), 8).size(), 2U);
  EXPECT_EQ(tree.tips_sharing(at(tree, "abcdef"), 8), std::vector<NodeId>{at(tree, "abcdxy")});
  tree.evict_snapshot(at(tree, "abcdxy"), budget());
  EXPECT_EQ(facts(tree, "abcdef").shared, 6);
  EXPECT_EQ(tree.tips_sharing(at(tree, "abcdxy"), 8), std::vector<NodeId>{at(tree, "abcdef")});
  expect_sound(tree);
}

TEST_F(TREE7, APromptIsTheLatestUntilAnotherOneEndsBelowIt) {
  TokenTree tree(kHybrid);
  const std::vector<PlacedHints> first = {{2, Hint::kPromptEnd}};
  commit(tree, "ab",
         {.blocks = {make_block(0, 2)}, .snapshots = {make_snapshot(2)}, .marks = first});
  EXPECT_TRUE(facts(tree, "ab").latest_prompt);
  commit(tree, "abcd", {.blocks = {make_block(2, 4)}, .snapshots = {make_snapshot(4)}});
  EXPECT_TRUE(facts(tree, "ab").latest_prompt) << "that is its answer";
  tree.evict_snapshot(at(tree, "abcd"), budget());
  const std::vector<PlacedHints> second = {{6, Hint::kPromptEnd}};
  commit(tree, "abcdef",
         {.blocks = {make_block(4, 6)}, .snapshots = {make_snapshot(6)}, .marks = second});
  EXPECT_FALSE(facts(tree, "ab").latest_prompt);
  EXPECT_TRUE(facts(tree, "abcdef").latest_prompt);
  EXPECT_FALSE(facts(tree, "abcd").latest_prompt);
}

TEST_F(TREE7, AnAnswerIsLeftBehindWhenItsPromptGoesOnWithoutIt) {
  TokenTree tree(kHybrid);
  const std::vector<PlacedHints> first = {{2, Hint::kPromptEnd}};
  const std::vector<PlacedHints> answer = {{4, Hint::kOffGrid}};
  commit(tree, "ab",
         {.blocks = {make_block(0, 2)}, .snapshots = {make_snapshot(2)}, .marks = first});
  commit(tree, "abcd",
         {.blocks = {make_block(2, 4)}, .snapshots = {make_snapshot(4)}, .marks = answer});
  EXPECT_FALSE(facts(tree, "abcd").left_behind);
  commit(tree, "abcdef", {.blocks = {make_block(4, 6)}, .snapshots = {make_snapshot(6)}});
  EXPECT_FALSE(facts(tree, "abcd").left_behind) << "it was sent back";
  commit(tree, "abxy", {.blocks = {make_block(2, 4)}, .snapshots = {make_snapshot(4)}});
  EXPECT_TRUE(facts(tree, "abcd").left_behind);
}

// Issue 3's second failure: whatever one request does, no snapshot is lost.
TEST_F(TREE7, AThousandCheckpointsSurviveADivergence) {
  TokenTree tree(kHybrid);
  constexpr TokenPos kStep = 256;
  constexpr TokenPos kLength = 1000 * kStep;
  Tokens tokens(kLength);
  for (TokenPos i = 0; i < kLength; ++i) tokens[i] = i % 1009;
  Given given;
  for (TokenPos p = 0; p < kLength; p += kBlockTokens) {
    given.blocks.push_back(make_block(p, p + kBlockTokens));
  }
  for (TokenPos p = kStep; p <= kLength; p += kStep) given.snapshots.push_back(make_snapshot(p));
  tree.commit({kSpace, tokens, given.blocks, given.snapshots, {}, ++now_});
  Tokens other(tokens.begin(), tokens.begin() + 10 * kStep + 17);
  other.resize(kLength, -1);
  tree.commit({.space = kSpace, .tokens = other, .now = ++now_});
  EXPECT_EQ(tree.match(kSpace, other).restorable(kLength), 10 * kStep);
  EXPECT_EQ(tree.match(kSpace, tokens).restorable(kLength - 1), kLength - kStep);
  EXPECT_EQ(tree.bytes(ByteKind::kSnapshots).resident, 1000U * 100);
  expect_sound(tree);
}

TEST_F(TokenTreeCommon, WhatLiesInTheTreePartsAtForksOnly) {
  TokenTree tree(kHybrid);
  const Filed filed{commit(tree, "aaabbbccc").node, 9};
  commit(tree, "aaabbbddd");
  commit(tree, "aaaeee");
  EXPECT_EQ(tree.match(kSpace, letters("aaabbbccc")).forks, (std::vector<TokenPos>{3, 6}));
  EXPECT_EQ(tree.match(kSpace, letters("aaabbb")).forks, (std::vector<TokenPos>{3}));
  EXPECT_EQ(common(tree, "aaabbbcccx", filed, "AAAbBBcCC"), 9);
  EXPECT_EQ(common(tree, "aaabbbdddx", filed, "AAAbBBcCC"), 6);
  EXPECT_EQ(common(tree, "aaaeeex", filed, "AAAbBBCCC"), 3);
}

TEST_F(TokenTreeCommon, BeyondTheTreeAllIsCompared) {
  TokenTree tree(kHybrid);
  const Filed filed{commit(tree, "aaa").node, 3};
  EXPECT_EQ(common(tree, "aaabbx", filed, "AAAbby"), 5);  // both go on
  EXPECT_EQ(common(tree, "aax", filed, "AAay"), 2);       // the prompt leaves
  EXPECT_EQ(common(tree, "aaab", {filed.node, 2}, "AAb"), 2);
  EXPECT_EQ(common(tree, "aab", {}, "aac"), 2);  // filed nowhere
}

TEST_F(TokenTreeCommon, ANodeThatIsGoneSaysNothing) {
  TokenTree tree(kHybrid);
  const Filed filed{commit(tree, "aaabbb").node, 6};
  commit(tree, "aaaccc");
  tree.trim_ghost(6);  // forgets the older of the two
  EXPECT_FALSE(tree.alive(filed.node));
  EXPECT_EQ(common(tree, "aaaccc", filed, "aaabbb"), 3);
}

TEST_F(TREE8, RowsBeyondTheDeepestSnapshotAreDeadWeight) {
  TokenTree tree(kHybrid);
  commit(tree, "abcd", {.blocks = {make_block(0, 4)}, .snapshots = {make_snapshot(2)}});
  EXPECT_TRUE(facts(tree, "abcd").dead_weight(kHybrid));
  EXPECT_FALSE(facts(tree, "ab").dead_weight(kHybrid));
  EXPECT_TRUE(facts(tree, "ab").hints.has(Hint::kTip));
  commit(tree, "abcd", {.snapshots = {make_snapshot(4)}});
  EXPECT_FALSE(facts(tree, "abcd").dead_weight(kHybrid));
  EXPECT_EQ(facts(tree, "ab").snapshots_below, 1U);
  EXPECT_TRUE(facts(tree, "ab").hints.has(Hint::kInterior));
}

TEST_F(TREE8, AForkTurnsAnInteriorNodeIntoAJunction) {
  TokenTree tree(kRecurrent);
  commit(tree, "abcd", {.snapshots = {make_snapshot(2), make_snapshot(4)}});
  EXPECT_EQ(facts(tree, "ab").hints, Hints(Hint::kInterior));
  const Committed fork = commit(tree, "abx");
  EXPECT_EQ(fork.junction, at(tree, "ab"));
  EXPECT_EQ(facts(tree, "ab").hints, Hints(Hint::kJunction));
}

TEST_F(TREE9, TokensStayWhenBytesGo) {
  TokenTree tree(kHybrid);
  const NodeId node =
      commit(tree, "abcd", {.blocks = {make_block(0, 4)}, .snapshots = {make_snapshot(4)}}).node;
  EXPECT_EQ(tree.counts().ghost_tokens, 0U);
  tree.evict_snapshot(node, {EvictReason::kBudget, 77});
  tree.evict_rows(node, 0, {EvictReason::kDeadWeight, 78});
  EXPECT_EQ(tree.counts().ghost_tokens, 4U);
  const Match match = tree.match(kSpace, letters("abxy"));
  EXPECT_EQ(match.matched, 2);
  EXPECT_TRUE(match.leaves_known_path);
  EXPECT_EQ(tree.facts(node).snapshot_note, (EvictionNote{EvictReason::kBudget, 77}));
  EXPECT_EQ(tree.facts(node).row_note, (EvictionNote{EvictReason::kDeadWeight, 78}));
  EXPECT_EQ(tree.path(match.node).continuation(match.matched, 10), letters("cd"));
}

TEST_F(TREE9, TokensBehindTheLastRowAreGhost) {
  TokenTree tree(kAttention);
  const NodeId node = commit(tree, "abcdef", {.blocks = {make_block(0, 6)}}).node;
  tree.evict_rows(node, 2, budget());
  EXPECT_EQ(tree.counts().ghost_tokens, 4U);
  EXPECT_EQ(facts(tree, "ab").row_tokens, 2);
  commit(tree, "abcd", {.blocks = {make_block(2, 4)}});
  EXPECT_EQ(tree.counts().ghost_tokens, 2U);
  EXPECT_EQ(facts(tree, "abcd").range, (TokenRange{0, 4}));
  tree.trim_ghost(0);
  EXPECT_EQ(tree.match(kSpace, letters("abcdef")).matched, 4);
  expect_sound(tree);
}

TEST_F(TREE9, TheKnownContinuationIsTheLatestOne) {
  TokenTree tree(kRecurrent);
  commit(tree, "to be or not");
  commit(tree, "to be is");
  EXPECT_EQ(tree.path(at(tree, "to be ")).continuation(6, 9), letters("is"));
  EXPECT_EQ(tree.path(at(tree, "to be ")).continuation(3, 4), letters("be i"));
  commit(tree, "to be or not");
  EXPECT_EQ(tree.path(at(tree, "to be ")).continuation(6, 3), letters("or "));
}

TEST_F(TREE9, TheOldestLeafIsForgottenFirst) {
  TokenTree tree(kRecurrent);
  commit(tree, "abc");
  commit(tree, "abd");
  commit(tree, "abe", {.snapshots = {make_snapshot(3)}});
  commit(tree, "abc");
  EXPECT_EQ(tree.counts().ghost_tokens, 2U);  // "ab" is needed by what "abe" holds
  EXPECT_EQ(tree.trim_ghost(1), 1U);
  EXPECT_FALSE(at(tree, "abd"));
  EXPECT_TRUE(at(tree, "abc"));
  EXPECT_EQ(tree.trim_ghost(0), 1U);
  EXPECT_EQ(facts(tree, "abe").range, (TokenRange{0, 3}));
  expect_sound(tree);
}

TEST_F(TREE10, CandidatesComeOldestFirst) {
  TokenTree tree(kHybrid);
  for (const char* path : {"a", "b", "c"}) {
    commit(tree, path, {.blocks = {make_block(0, 1)}, .snapshots = {make_snapshot(1)}});
  }
  tree.record_hit(at(tree, "a"), ++now_);
  commit(tree, "b");  // passing by renews rows, not the snapshot
  const NodeId b = tree.oldest(Held::kSnapshot);
  EXPECT_EQ(b, at(tree, "b"));
  EXPECT_EQ(tree.newer(Held::kSnapshot, b), at(tree, "c"));
  EXPECT_EQ(tree.newer(Held::kSnapshot, at(tree, "c")), at(tree, "a"));
  EXPECT_FALSE(tree.newer(Held::kSnapshot, at(tree, "a")));
  EXPECT_EQ(tree.oldest(Held::kBlocks), at(tree, "c"));
  EXPECT_EQ(facts(tree, "a").hits, 1U);
}

TEST_F(TREE11, ChildrenAreOlderThanTheirParents) {
  TokenTree tree(kAttention);
  commit(tree, "ab", {.blocks = {make_block(0, 2)}, .marks = {{2, Hint::kPromptEnd}}});
  commit(tree, "abcd", {.blocks = {make_block(2, 4)}});
  EXPECT_EQ(tree.oldest(Held::kBlocks), at(tree, "abcd"));
  EXPECT_EQ(tree.newer(Held::kBlocks, at(tree, "abcd")), at(tree, "ab"));
}

// The joined node is as young as its upper half was, and stands accordingly.
TEST_F(TREE10, AJoinedNodeTakesThePlaceOfItsUpperHalf) {
  TokenTree tree(kAttention);
  commit(tree, "abcd", {.blocks = {make_block(2, 4)}});
  commit(tree, "q", {.blocks = {make_block(0, 1)}});
  commit(tree, "abx");  // renews "ab", which has no rows
  EXPECT_EQ(tree.oldest(Held::kBlocks), at(tree, "abcd"));
  tree.trim_ghost(0);
  EXPECT_EQ(facts(tree, "abcd").range, (TokenRange{0, 4}));
  EXPECT_EQ(tree.oldest(Held::kBlocks), at(tree, "q"));
  EXPECT_EQ(tree.newer(Held::kBlocks, at(tree, "q")), at(tree, "abcd"));
  expect_sound(tree);
}

TEST_F(TREE11, TimeDoesNotRunBackwards) {
  TokenTree tree(kAttention);
  now_ = 50;
  commit(tree, "a", {.blocks = {make_block(0, 1)}});
  now_ = 10;
  commit(tree, "b", {.blocks = {make_block(0, 1)}});
  EXPECT_EQ(tree.oldest(Held::kBlocks), at(tree, "a"));
  EXPECT_EQ(facts(tree, "b").last_use, 51U);
  expect_sound(tree);
}

TEST_F(TREE12, AnExtendedLeafStaysOneEdge) {
  TokenTree tree(kAttention);
  std::string path;
  for (int chunk = 0; chunk < 20; ++chunk) {
    const auto begin = static_cast<TokenPos>(path.size());
    path += "chunk of 16 more";
    commit(tree, path, {.blocks = {make_block(begin, begin + 16)}});
  }
  EXPECT_EQ(tree.counts().nodes, 2U);
  EXPECT_EQ(facts(tree, path).row_tokens, 320);
  expect_sound(tree);
}

TEST_F(TREE12, APlaceIsKeptForItsMark) {
  TokenTree tree(kRecurrent);
  commit(tree, "abcd",
         {.snapshots = {make_snapshot(2), make_snapshot(3)}, .marks = {{2, Hint::kSystemEnd}}});
  const NodeId marked = at(tree, "ab");
  const NodeId unmarked = at(tree, "abc");
  tree.evict_snapshot(marked, {});
  tree.evict_snapshot(unmarked, {});
  EXPECT_TRUE(tree.facts(marked).hints.has(Hint::kSystemEnd));
  EXPECT_FALSE(tree.alive(unmarked));
  EXPECT_EQ(facts(tree, "abcd").range, (TokenRange{2, 4}));
}

TEST_F(TREE12, APinnedNodeIsJoinedOnlyWhenItIsFree) {
  TokenTree tree(kRecurrent);
  const NodeId node = commit(tree, "ab").node;
  Pin pin = tree.pin(node);
  commit(tree, "abcd");
  EXPECT_TRUE(tree.alive(node));
  expect_sound(tree);
  pin.release();
  EXPECT_FALSE(tree.alive(node));
  expect_sound(tree);
}

TEST_F(TREE13, ANoteGoesWhenTheBytesComeBack) {
  TokenTree tree(kHybrid);
  const Given given{.blocks = {make_block(0, 4)}, .snapshots = {make_snapshot(4)}};
  const NodeId node = commit(tree, "abcd", given).node;
  tree.evict_snapshot(node, budget());
  tree.evict_rows(node, 2, budget());
  commit(tree, "abcd", given);
  EXPECT_FALSE(tree.facts(node).snapshot_note);
  EXPECT_FALSE(tree.facts(node).row_note);
  expect_sound(tree);
}

TEST_F(TREE13, AJoinKeepsTheLaterNote) {
  TokenTree tree(kHybrid);
  commit(tree, "abcd", {.blocks = {make_block(0, 4)}, .snapshots = {make_snapshot(2)}});
  tree.evict_rows(at(tree, "abcd"), 0, {EvictReason::kDeadWeight, 20});
  tree.evict_rows(at(tree, "ab"), 0, {EvictReason::kBudget, 30});
  tree.evict_snapshot(at(tree, "ab"), {});  // without a note nothing keeps the two apart
  EXPECT_EQ(facts(tree, "abcd").range, (TokenRange{0, 4}));
  EXPECT_EQ(facts(tree, "abcd").row_note, (EvictionNote{EvictReason::kBudget, 30}));
}

TEST_F(TREE13, ASplitKeepsTheNoteOnBothSides) {
  TokenTree tree(kAttention);
  const NodeId node = commit(tree, "abcd", {.blocks = {make_block(0, 4)}}).node;
  tree.evict_rows(node, 0, budget());
  commit(tree, "abx");
  EXPECT_TRUE(facts(tree, "ab").row_note);
  EXPECT_TRUE(facts(tree, "abcd").row_note);
}

}  // namespace
}  // namespace holdfast::tree
