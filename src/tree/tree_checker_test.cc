// Each invariant is broken once on purpose, and check() must name it.
#include "tree/tree_checker.h"

#include <gtest/gtest.h>

#include "tree/testing/tree_fixture.h"
#include "tree/token_tree.h"

namespace holdfast::tree {

struct TokenTreePeer {
  static TreeCore& core(TokenTree& tokens) { return *tokens.core_; }
};

struct TreeBreaker {
  static void lose_ghost_tokens(TreeCore& core) { --core.states().ghost().tokens_; }
  static void lose_tokens(TreeCore& core) { --core.nodes().token_count_; }
  static void move_to_newest(TreeCore& core, Node& node) {
    core.states().uses().rows_.move_to_newest(node);
  }
  static void charge(TreeCore& core, const void* object) {
    core.states().ledger_.add_user(object, 1, ByteKind::kBlocks, Hold::kEvictable);
  }
};

namespace {

class TreeChecker : public TokenTreeFixture {
 protected:
  // root --[ab]-- snapshot, rows --[cd]-- snapshot, rows
  //                           \--[x]-- ghost
  TreeChecker() {
    commit(tree_, "ab", {.blocks = {make_block(0, 2)}, .snapshots = {make_snapshot(2)}});
    commit(tree_, "abcd", {.blocks = {make_block(2, 4)}, .snapshots = {make_snapshot(4)}});
    commit(tree_, "abx");
    expect_sound(tree_);
  }
  TreeCore& core() { return TokenTreePeer::core(tree_); }
  Node& node(std::string_view path) { return core().nodes().at(at(tree_, path)); }

  void expect_named(const std::string& invariant) {
    const auto violations = tree_.check();
    EXPECT_FALSE(violations.empty());
    EXPECT_TRUE(std::ranges::any_of(violations, [&](const std::string& text) {
      return text.starts_with(invariant + ":");
    })) << (violations.empty() ? "" : violations.front());
  }

  TokenTree tree_{kHybrid};
};

TEST_F(TreeChecker, NamesTREE1) {
  static StretchPool pool;
  node("abx").tokens = EdgeTokens::below({}, letters("c"), pool);
  expect_named("TREE-1");
}

TEST_F(TreeChecker, NamesTREE2) {
  Node& shortened = node("abcd");
  (void)shortened.tokens.take_head(1);
  expect_named("TREE-2");
  TreeBreaker::lose_tokens(core());
  expect_named("TREE-2");
}

TEST_F(TreeChecker, NamesTREE3) {
  TreeBreaker::charge(core(), this);
  expect_named("TREE-3");
}

TEST_F(TreeChecker, NamesTREE3WhenAPinIsNotCharged) {
  node("abcd").pins = 1;
  expect_named("TREE-3");
}

TEST_F(TreeChecker, NamesTREE4) {
  node("abcd").pins = 1;
  expect_named("TREE-4");
}

TEST_F(TreeChecker, NamesTREE5) {
  node("abcd").state.row = node("ab").state.row;
  expect_named("TREE-5");
}

TEST_F(TreeChecker, NamesTREE6) {
  node("abcd").state.snapshot = node("ab").state.snapshot;
  expect_named("TREE-6");
}

TEST_F(TreeChecker, NamesTREE7) {
  node("ab").reachable = false;
  expect_named("TREE-7");
}

TEST_F(TreeChecker, NamesTREE8) {
  ++node("ab").holders;
  expect_named("TREE-8");
}

TEST_F(TreeChecker, NamesTREE9) {
  TreeBreaker::lose_ghost_tokens(core());
  expect_named("TREE-9");
}

TEST_F(TreeChecker, NamesTREE10) {
  node("abcd").last_use = 0;
  node("ab").last_use = 1;
  TreeBreaker::move_to_newest(core(), node("abcd"));
  expect_named("TREE-10");
}

TEST_F(TreeChecker, NamesTREE11) {
  TreeBreaker::move_to_newest(core(), node("abcd"));
  node("abcd").last_use = node("ab").last_use;
  expect_named("TREE-11");
}

TEST_F(TreeChecker, NamesTREE12) {
  commit(tree_, "abxyz", {.marks = {{3, Hint::kGridStep}}});
  node("abx").marks = {};
  expect_named("TREE-12");
}

TEST_F(TreeChecker, NamesTREE13) {
  node("ab").state.snapshot_note = budget();
  expect_named("TREE-13");
}

}  // namespace
}  // namespace holdfast::tree
