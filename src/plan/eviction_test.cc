#include "plan/eviction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tree/testing/tree_fixture.h"
#include "tree/testing/tree_maker.h"

namespace holdfast::plan {
namespace {

constexpr tree::StateNeeds kNothing{.blocks = false, .snapshot = false};
constexpr double kAnything = std::numeric_limits<double>::infinity();

// --- by hand -------------------------------------------------------------------

class Eviction : public tree::TokenTreeFixture {
 protected:
  // A path whose tokens all have their rows, a byte each, and snapshots of 100
  // bytes at these places.
  tree::Committed grow(tree::TokenTree& tree, const std::string& path,
                       const std::vector<TokenPos>& snapshots,
                       const std::vector<tree::PlacedHints>& marks = {}) {
    Given given{.blocks = {}, .snapshots = {}, .marks = marks};
    const auto length = static_cast<TokenPos>(path.size());
    for (TokenPos at = 0; at < length; at += block_tokens_) {
      given.blocks.push_back(tree::make_block(at, std::min(at + block_tokens_, length)));
    }
    for (const TokenPos at : snapshots) given.snapshots.push_back(tree::make_snapshot(at));
    return commit(tree, path, given);
  }
  static RoomRequest asked_at(tree::Tick now) { return {.now = now}; }

  std::vector<Victim> evict(tree::TokenTree& tree, RoomRequest request) {
    if (request.now == 0) request.now = now_;
    auto victims = evict_bytes(tree, request, policy_);
    expect_sound(tree);
    return victims;
  }
  // "s8 rows12": what went, and where.
  std::string evicted(tree::TokenTree& tree, const RoomRequest& request) {
    std::string text;
    for (const Victim& victim : evict(tree, request)) {
      if (!text.empty()) text += ' ';
      text += victim.held == tree::Held::kSnapshot ? "s" : "rows";
      text += std::to_string(victim.position);
    }
    return text;
  }

  EvictionPolicy policy_;
  TokenPos block_tokens_ = 2;
};

TEST_F(Eviction, DeadWeightGoesBeforeEverythingElse) {
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "aaaa", {4});
  grow(tree, "bbbbb", {});
  const auto victims = evict(tree, {.needed = 1});
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].position, 5);
  EXPECT_EQ(victims[0].bytes, 5U);
  EXPECT_EQ(victims[0].reason, tree::EvictReason::kDeadWeight);
  EXPECT_EQ(facts(tree, "bbbbb").row_note.reason, tree::EvictReason::kDeadWeight);
}

TEST_F(Eviction, AnInteriorSnapshotIsThinnedOutBeforeAnyTipGoes) {
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "cccccccc", {8});
  grow(tree, "aaaabbbb", {4, 8});
  const auto victims = evict(tree, {.needed = 1});
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].position, 4);
  EXPECT_EQ(victims[0].reason, tree::EvictReason::kThinned);
  EXPECT_TRUE(facts(tree, "aaaabbbb").restorable);
}

TEST_F(Eviction, ATipThatEndedInAToolCallOutlivesOneThatAnswered) {
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "aaaa", {4}, {{4, Hint::kToolCall}});
  grow(tree, "bbbb", {4});
  ASSERT_EQ(evict(tree, {.needed = 1}).size(), 1U);
  EXPECT_TRUE(facts(tree, "aaaa").has_snapshot);
  EXPECT_FALSE(facts(tree, "bbbb").has_snapshot);
}

TEST_F(Eviction, AnOldTipGoesBeforeAYoungOne) {
  tree::TokenTree tree(tree::kRecurrent);
  commit(tree, "aaaa", {.snapshots = {tree::make_snapshot(4)}});
  now_ += 60'000;
  commit(tree, "bbbb", {.snapshots = {tree::make_snapshot(4)}});
  ASSERT_EQ(evict(tree, {.needed = 1}).size(), 1U);
  EXPECT_FALSE(facts(tree, "aaaa").has_snapshot);
}

TEST_F(Eviction, AJunctionCountsAsInteriorUntilTwoHaveComeBackToIt) {
  for (const bool proven : {false, true}) {
    tree::TokenTree tree(tree::kHybrid);
    grow(tree, "ssssaaaa", {4, 8});
    grow(tree, "ssssbbbb", {8});
    tree.record_hit(at(tree, "ssss"), ++now_);
    if (proven) tree.record_hit(at(tree, "ssss"), ++now_);
    ASSERT_EQ(evict(tree, {.needed = 1}).size(), 1U);
    EXPECT_EQ(facts(tree, "ssss").has_snapshot, proven);
  }
}

TEST_F(Eviction, AProvenSystemEndOutlivesTheLastConversationBelowIt) {
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "ssssaaaa", {4, 8}, {{4, Hint::kSystemEnd}});
  for (int i = 0; i < 2; ++i) tree.record_hit(at(tree, "ssss"), ++now_);
  grow(tree, "bbbb", {4});
  EXPECT_EQ(evicted(tree, {.needed = 205}), "s8 rows8 s4 rows4");
  EXPECT_TRUE(facts(tree, "ssss").restorable);
  EXPECT_FALSE(facts(tree, "bbbb").has_snapshot);
}

TEST_F(Eviction, TheRowsOfATipFollowItIfThereIsStillNeed) {
  for (const ByteCount needed : {100U, 101U}) {
    tree::TokenTree tree(tree::kHybrid);
    grow(tree, "ssssaaaa", {8});
    grow(tree, "ssssbbbb", {8});
    now_ += 1000;
    commit(tree, "ssssaaaa");
    ASSERT_NE(evict(tree, {.needed = needed}).size(), 0U);
    EXPECT_EQ(facts(tree, "ssss").row_tokens, 4) << "the other conversation needs them";
    EXPECT_EQ(tree.bytes().resident, needed == 100 ? 112U : 108U);
  }
}

TEST_F(Eviction, RowsDieUpToTheNearestSnapshotAbove) {
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "aabbccdd", {2, 8}, {{4, Hint::kMessageEnd}, {6, Hint::kMessageEnd}});
  for (int i = 0; i < 10; ++i) tree.record_hit(at(tree, "aa"), now_);
  tree.mark(at(tree, "aa"), Hint::kSystemEnd);
  EXPECT_EQ(evicted(tree, {.needed = 103}), "s8 rows8 rows6");
  EXPECT_EQ(evicted(tree, {.needed = 1000}), "rows4 s2 rows2");
}

TEST_F(Eviction, TheRowsOnTheWayToAGrowingNodeStay) {
  tree::TokenTree tree(tree::kHybrid);
  const tree::NodeId node = grow(tree, "aaaabbbb", {8}, {{4, Hint::kMessageEnd}}).node;
  const auto victims = evict(tree, {.needed = 1000, .growing = {node}});
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].held, tree::Held::kSnapshot);
  EXPECT_EQ(victims[0].reason, tree::EvictReason::kThinned);
  EXPECT_EQ(facts(tree, "aaaabbbb").row_tokens, 4);
  EXPECT_EQ(facts(tree, "aaaa").row_tokens, 4);
}

TEST_F(Eviction, TheTipOfAGrowingNodeGoesBeforeOtherTips) {
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "bbbb", {4});
  const tree::NodeId node = grow(tree, "aaaa", {4}).node;
  ASSERT_EQ(evict(tree, {.needed = 1, .growing = {node}}).size(), 1U);
  EXPECT_TRUE(facts(tree, "bbbb").has_snapshot);
  EXPECT_FALSE(facts(tree, "aaaa").has_snapshot);
}

TEST_F(Eviction, WhatIsPinnedStays) {
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "aaaabbbb", {4, 8});
  grow(tree, "cccc", {4});
  const tree::Pin pin = tree.pin(at(tree, "aaaabbbb"));
  EXPECT_EQ(evicted(tree, {.needed = 1000}), "s4 rows4");
  EXPECT_TRUE(facts(tree, "aaaabbbb").restorable);
  EXPECT_FALSE(facts(tree, "cccc").has_snapshot);
}

TEST_F(Eviction, AnAttentionEdgeLosesNoMoreOfItsTailThanIsNeeded) {
  tree::TokenTree tree(tree::kAttention);
  block_tokens_ = 64;
  grow(tree, std::string(256, 'a'), {});
  const auto victims = evict(tree, {.needed = 100});
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(victims[0].bytes, 128U);
  EXPECT_EQ(victims[0].reason, tree::EvictReason::kBudget);
  EXPECT_EQ(tree.match(tree::kSpace, tree::letters(std::string(256, 'a'))).covered, 128);
}

TEST_F(Eviction, ATrunkLosesItsRowsAfterItsBranches) {
  tree::TokenTree tree(tree::kAttention);
  const std::string trunk(64, 's');
  block_tokens_ = 64;
  grow(tree, trunk + std::string(64, 'a'), {});
  grow(tree, trunk + std::string(64, 'b'), {});
  EXPECT_EQ(evicted(tree, {.needed = 129}), "rows128 rows128 rows64");
}

TEST_F(Eviction, RowsThatShareABlockDoNotKeepTheEdgeAboveForEver) {
  tree::TokenTree tree(tree::kAttention);
  block_tokens_ = 64;
  grow(tree, std::string(40, 'a'), {});
  commit(tree, std::string(30, 'a') + "b");  // parts the edge, and the block stays one
  grow(tree, std::string(64, 'c'), {});
  now_ += 100'000;
  grow(tree, std::string(64, 'd'), {});
  ASSERT_EQ(tree.facts(at(tree, std::string(40, 'a'))).block_bytes, 0U);
  EXPECT_EQ(evicted(tree, {.needed = 80}), "rows40 rows30 rows64");
  EXPECT_EQ(facts(tree, std::string(64, 'd')).row_tokens, 64);
}

// Each of the two ends would free little by itself, and together they hold the most.
TEST_F(Eviction, OldBranchesOfALongTrunkDoNotKeepItForEachOther) {
  tree::TokenTree tree(tree::kHybrid);
  const std::string trunk(200, 't');
  grow(tree, trunk + "aa", {202});
  grow(tree, trunk + "bb", {202});
  now_ += 600'000;
  grow(tree, std::string(60, 'c'), {60});
  now_ += 60'000;
  EXPECT_EQ(evicted(tree, {.needed = 350}), "s202 rows202 s202 rows202 rows200");
  EXPECT_TRUE(facts(tree, std::string(60, 'c')).restorable);
}

// A block across a fork has two users, and the edge behind it frees nothing.
TEST_F(Eviction, AShortEdgeInASharedBlockDoesNotMakeALongPathWeightless) {
  tree::TokenTree tree(tree::kHybrid);
  block_tokens_ = 64;
  grow(tree, std::string(100, 'a'), {100});
  commit(tree, std::string(98, 'a') + "b");  // parts the edge
  ASSERT_EQ(facts(tree, std::string(100, 'a')).block_bytes, 0U);
  now_ += 600'000;
  grow(tree, std::string(30, 'c'), {30});
  now_ += 60'000;
  EXPECT_EQ(evicted(tree, {.needed = 1}), "s100");
}

TEST_F(Eviction, NothingThatIsWorthAsMuchAsTheNewcomerMakesWay) {
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "aaaa", {4});
  grow(tree, "bbbb", {4});
  const double worth = snapshot_value(facts(tree, "aaaa"), asked_at(now_), policy_);
  EXPECT_EQ(evicted(tree, {.needed = 1, .worth = worth}), "");
  EXPECT_EQ(evicted(tree, {.needed = 1, .worth = worth * 1.01}), "s4");
}

TEST_F(Eviction, WhenNothingIsLeftItStops) {
  tree::TokenTree tree(tree::kHybrid);
  EXPECT_EQ(evicted(tree, {.needed = 1}), "");
  grow(tree, "aaaabbbb", {4, 8});
  EXPECT_EQ(evicted(tree, {.needed = ~ByteCount{0}}), "s4 s8 rows8 rows4");
  EXPECT_EQ(tree.bytes().resident, 0U);
  EXPECT_EQ(evicted(tree, {.needed = 1}), "");
}

TEST_F(Eviction, WhenNothingIsNeededNothingGoes) {
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "aaaa", {});
  EXPECT_EQ(evicted(tree, {.needed = 0}), "");
}

TEST_F(Eviction, ALotThatHoldsNothingOfUseIsFollowedByTheNextOne) {
  policy_.candidates_max = 1;
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "aaaa", {4});
  grow(tree, "bbbb", {4});
  grow(tree, "cccc", {});
  EXPECT_EQ(evicted(tree, {.needed = 1000}), "s4 rows4 s4 rows4 rows4");
  EXPECT_EQ(tree.bytes().resident, 0U);
}

TEST_F(Eviction, ANewcomerOfLittleWorthIsTurnedAwayAfterOneLot) {
  policy_.candidates_max = 1;
  tree::TokenTree tree(tree::kHybrid);
  grow(tree, "aaaa", {4});
  grow(tree, "bbbb", {});
  EXPECT_EQ(evicted(tree, {.needed = 1, .worth = 1e-9}), "") << "dead weight is in the next lot";
  EXPECT_EQ(evicted(tree, {.needed = 1}), "s4");
}

TEST_F(Eviction, ValueFollowsTheFormula) {
  tree::NodeFacts facts{.node = {1, 1},
                        .hints = Hint::kTip,
                        .last_use = 1000,
                        .snapshot_last_use = 3000,
                        .snapshot_bytes = 50,
                        .block_bytes = 150,
                        .recompute = 40,
                        .shared_bytes = 150};
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_), 0.87 / 62 * 40 / 200);
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_, {facts.node}),
                   0.05 / 17 * 40 / 50);
  EXPECT_DOUBLE_EQ(rows_value(facts, asked_at(5000), policy_), 0.87 / 64 * 40 / 150);
  facts.hints = facts.hints | Hint::kToolCall;
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_), 1.0 / 14 * 40 / 200);
  facts.shared_bytes = 1200;
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_), 1.0 / 14 * 40 / (50 + 1200))
      << "its part of the rows that would be of no use";
  facts.hints = Hint::kPromptEnd;
  facts.snapshots_below = 1;
  facts.latest_prompt = true;
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_), 0.87 / 62 * 40 / 50)
      << "the state below is its answer's";
  facts.latest_prompt = false;
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_), 0.05 / 17 * 40 / 50);
  facts.hints = Hint::kJunction;
  facts.snapshots_below = 1;
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_), 0.05 / 17 * 40 / 50);
  facts.hints = Hints(Hint::kTip) | Hint::kPromptEnd | Hint::kOneOff;
  facts.latest_prompt = true;
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_), 0.0006 / 62 * 40 / 50);
  facts.hits = 1;
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_), 0.87 / 62 * 40 / 50)
      << "somebody has come back to it";
  facts.hints = Hint::kJunction;
  facts.latest_prompt = false;
  facts.hits = 2;
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(5000), policy_), 1.0 / 62 * 40 / 50);
  EXPECT_DOUBLE_EQ(snapshot_value(facts, asked_at(0), policy_), 1.0 / 60 * 40 / 50)
      << "no negative ages";
}

// Four by turns, and a is next: what was used last is wanted last.
TEST_F(Eviction, WhereConversationsComeByTurnsTheYoungestGoesFirst) {
  tree::TokenTree tree(tree::kHybrid);
  ReturnAges returns;
  std::map<std::string, tree::Tick> last;
  const std::vector<std::string> all = {"aaaa", "bbbb", "cccc", "dddd"};
  for (int turn = 0; turn < 3; ++turn) {
    for (const std::string& path : all) {
      now_ = returns.begin(now_ + 1000);
      returns.note(4, last.contains(path) ? 4 : 0, last[path]);
      last[path] = now_;
      if (turn == 2) grow(tree, path, {4});
    }
  }
  EXPECT_TRUE(returns.loops(8));
  const auto holds = [&](const std::string& path) { return facts(tree, path).has_snapshot; };
  evict(tree, {.needed = 1, .loop = &returns});
  EXPECT_FALSE(holds("dddd"));
  evict(tree, {.needed = 100, .loop = &returns});
  EXPECT_FALSE(holds("cccc"));
  const double newcomer = policy_.tip.weight * returns.density(0) * 4 / 104;
  EXPECT_TRUE(evict(tree, {.needed = 100, .worth = newcomer, .loop = &returns}).size() <= 2U);
  EXPECT_TRUE(holds("aaaa") && holds("bbbb")) << "nothing makes way for an equal";
  evict(tree, {.needed = 100});
  EXPECT_FALSE(holds("aaaa")) << "and otherwise the oldest";
}

// --- against an oracle -----------------------------------------------------------

// What may go from a tree and what it is worth, found by looking at everything.
class Judge {
 public:
  struct Choice {
    tree::NodeFacts facts;
    tree::Held held = tree::Held::kSnapshot;
    double value = 0;
    tree::EvictReason reason = tree::EvictReason::kBudget;
  };

  Judge(tree::TokenTree& tree, const RoomRequest& request, const EvictionPolicy& policy)
      : tree_(tree), request_(request), policy_(policy) {
    const double tokens = static_cast<double>(tree.counts().tokens - tree.counts().ghost_tokens);
    mean_ = std::floor(static_cast<double>(tree.bytes(tree::ByteKind::kBlocks).resident) / tokens);
    if (!(mean_ >= 1.0)) mean_ = 1.0;
  }

  [[nodiscard]] std::vector<Choice> choices() const {
    std::vector<Choice> all;
    std::map<tree::NodeId, Tokens> holders;
    for (const tree::Held held : {tree::Held::kSnapshot, tree::Held::kBlocks}) {
      for (tree::NodeId at = tree_.oldest(held); at; at = tree_.newer(held, at)) {
        holders[at] = tree_.path(at).tokens();
      }
    }
    for (const auto& [node, tokens] : holders) {
      const tree::NodeFacts facts = tree_.facts(node);
      const bool on_way = is_on_way(facts, tokens);
      if (facts.has_snapshot) all.push_back(snapshot(facts, on_way));
      if (facts.row_tokens == 0 || on_way) continue;
      if (tree_.needs().snapshot) {
        if (!facts.has_snapshot && facts.snapshots_below == 0) {
          all.push_back({facts, tree::Held::kBlocks, 0, tree::EvictReason::kDeadWeight});
        }
      } else if (is_outermost(facts, tokens, holders)) {
        all.push_back(rows(facts));
      }
    }
    return all;
  }

  // Does on this tree what evict_bytes says it did. Empty, or what is wrong.
  std::string replay(const std::vector<Victim>& victims, bool all_looked_at) {
    ByteCount freed = 0;
    for (const Victim& victim : victims) {
      if (freed >= request_.needed) return "EVICT-3: it did not stop";
      const auto all = choices();
      const auto chosen = std::ranges::find_if(all, [&](const Choice& choice) {
        return choice.facts.node == victim.node && choice.held == victim.held;
      });
      if (chosen == all.end()) return "EVICT-1: this was no candidate";
      if (chosen->value >= request_.worth * (1 + 1e-12)) return "EVICT-4: it is worth too much";
      for (const Choice& other : all) {
        if (!all_looked_at) break;
        if (other.value * (1 + 1e-12) < chosen->value) return "EVICT-2: not the least";
        if (other.value == 0 && order_of(other) < order_of(*chosen))
          return "EVICT-2: not the oldest";
      }
      if (victim.reason != chosen->reason) return "another reason";
      if (victim.position != chosen->facts.range.end) return "another position";
      const ByteCount bytes = take(*chosen, request_.needed - freed);
      if (bytes != victim.bytes) return "another number of bytes";
      freed += bytes;
    }
    if (freed >= request_.needed || !(all_looked_at || request_.worth == kAnything)) return {};
    for (const Choice& left : choices()) {
      if (left.value < request_.worth * (1 - 1e-12)) return "EVICT-4: it gave up too early";
    }
    return {};
  }

 private:
  // Among dead weight.
  static std::pair<tree::Tick, TokenPos> order_of(const Choice& choice) {
    return {choice.facts.last_use, -choice.facts.range.end};
  }
  static bool begins_with(const Tokens& tokens, const Tokens& prefix) {
    return tokens.size() >= prefix.size() &&
           std::ranges::equal(prefix, std::span(tokens).first(prefix.size()));
  }
  [[nodiscard]] bool is_on_way(const tree::NodeFacts& facts, const Tokens& tokens) const {
    const tree::NodeId growing = request_.growing.node;
    return growing && tree_.facts(growing).space == facts.space &&
           begins_with(tree_.path(growing).tokens(), tokens);
  }
  [[nodiscard]] bool is_outermost(const tree::NodeFacts& facts, const Tokens& tokens,
                                  const std::map<tree::NodeId, Tokens>& holders) const {
    return std::ranges::none_of(holders, [&](const auto& other) {
      return other.first != facts.node && tree_.facts(other.first).space == facts.space &&
             begins_with(other.second, tokens);
    });
  }

  [[nodiscard]] double worth(const ReuseOdds& odds, tree::Tick used, const tree::NodeFacts& facts,
                             double bytes) const {
    if (request_.loop != nullptr) {
      const std::uint64_t requests = request_.loop->age(used);
      const bool proven = odds.tau_s == policy_.proven.tau_s && odds.weight != policy_.tip.weight;
      const double likely =
          proven ? 1.0 / static_cast<double>(requests + 1) : request_.loop->density(requests);
      return odds.weight * likely * facts.recompute / std::max(bytes, 1.0);
    }
    const double age = static_cast<double>(request_.now - used) * 1e-3;
    return odds.weight * facts.recompute / ((age + odds.tau_s) * std::max(bytes, 1.0));
  }
  [[nodiscard]] ReuseOdds odds(const tree::NodeFacts& facts, bool on_way) const {
    if ((facts.hints.has(Hint::kJunction) || facts.hints.has(Hint::kSystemEnd)) && facts.hits > 1) {
      return {policy_.proven.weight * facts.hits, policy_.proven.tau_s};
    }
    if (facts.hints.has(Hint::kOneOff) && facts.hits == 0) return policy_.one_off;
    const bool tip = facts.hints.has(Hint::kTip) && !facts.left_behind;
    if (on_way || !(tip || facts.latest_prompt)) return policy_.interior;
    return facts.hints.has(Hint::kToolCall) ? policy_.tip_after_tool_call : policy_.tip;
  }
  [[nodiscard]] Choice snapshot(const tree::NodeFacts& facts, bool on_way) const {
    auto bytes = static_cast<double>(facts.snapshot_bytes);
    if (!on_way && facts.snapshots_below == 0) bytes += static_cast<double>(facts.shared_bytes);
    const ReuseOdds its = odds(facts, on_way);
    const bool interior = its.weight == policy_.interior.weight;
    return {facts, tree::Held::kSnapshot, worth(its, facts.snapshot_last_use, facts, bytes),
            interior ? tree::EvictReason::kThinned : tree::EvictReason::kBudget};
  }
  [[nodiscard]] Choice rows(const tree::NodeFacts& facts) const {
    auto bytes = static_cast<double>(facts.block_bytes);
    if (bytes == 0) bytes = mean_ * facts.row_tokens;
    return {facts, tree::Held::kBlocks, worth(odds(facts, false), facts.last_use, facts, bytes),
            tree::EvictReason::kBudget};
  }

  ByteCount take(const Choice& choice, ByteCount missing) {
    const tree::EvictionNote note{choice.reason, request_.now};
    const tree::NodeFacts& facts = choice.facts;
    if (choice.held == tree::Held::kSnapshot) return tree_.evict_snapshot(facts.node, note).value();
    if (choice.reason == tree::EvictReason::kDeadWeight || facts.block_bytes <= missing) {
      return tree_.evict_rows(facts.node, 0, note).value();
    }
    TokenPos from = facts.range.end;
    const double per_token = static_cast<double>(facts.block_bytes) / facts.row_tokens;
    while (from % kBlockTokens != 0 ||
           (facts.range.end - from) * per_token < static_cast<double>(missing) - 1e-6) {
      --from;
    }
    return tree_.evict_rows(facts.node, from, note).value();
  }

  tree::TokenTree& tree_;
  const RoomRequest& request_;
  const EvictionPolicy& policy_;
  double mean_ = 1;
};

// Two trees to which the same is done: one is made room in, the other is judged.
class Twins {
 public:
  Twins(tree::StateNeeds needs, TokenPos tail_max, std::uint32_t seed)
      : make_(tail_max), tree_(needs), twin_(needs) {
    make_.seed(seed);
  }

  std::string step() {
    now_ = returns_.begin(now_ + below(3) * below(60'000));
    returns_.note(100, static_cast<TokenPos>(below(100)), below(static_cast<unsigned>(now_)));
    switch (below(10)) {
      case 0:
      case 1:
      case 2:
      case 3: commit(); break;
      case 4: use(); break;
      case 5: mark(); break;
      case 6: pin(); break;
      case 7: unpin(); break;
      default: return make_room();
    }
    return {};
  }

 private:
  unsigned below(unsigned limit) { return make_.below(limit); }

  void commit() {
    const tree::KnownPath path = make_.path(known_);
    const auto keys = tree::TreeOracle::keys(path.space, path.tokens);
    const auto blocks = make_.one_in(5) ? std::vector<ExtentBlockPtr>{} : make_.blocks(keys);
    std::vector<SnapshotPtr> snapshots;
    for (unsigned n = tree_.needs().snapshot ? below(4) : 0; n > 0; --n) {
      const auto length = static_cast<unsigned>(path.tokens.size());
      snapshots.push_back(make_.snapshot(keys, 1 + static_cast<TokenPos>(below(length))));
    }
    for (tree::TokenTree* tree : {&tree_, &twin_}) {
      (void)tree->commit({path.space, path.tokens, blocks, snapshots, {}, now_});
    }
    known_.push_back(path);
  }

  tree::NodeId random_node() {
    const tree::KnownPath path = make_.path(known_);
    const tree::Match match = tree_.match(path.space, path.tokens);
    if (match.stops.empty() || make_.one_in(3)) return match.node;
    return match.stops[below(static_cast<unsigned>(match.stops.size()))].node;
  }
  void use() {
    const tree::NodeId node = random_node();
    if (!node) return;
    const bool hit = make_.one_in(2);
    for (tree::TokenTree* tree : {&tree_, &twin_}) {
      const Tokens tokens = tree->path(node).tokens();
      if (hit) tree->record_hit(node, now_);
      if (!hit)
        (void)tree->commit({.space = tree->facts(node).space, .tokens = tokens, .now = now_});
    }
  }
  void mark() {
    constexpr Hint kMarks[] = {Hint::kJunction, Hint::kSystemEnd, Hint::kPromptEnd, Hint::kToolCall,
                               Hint::kOffGrid};
    const tree::NodeId node = random_node();
    const Hint hint = kMarks[below(5)];
    if (!node) return;
    for (tree::TokenTree* tree : {&tree_, &twin_}) tree->mark(node, hint);
  }
  void pin() {
    const tree::NodeId node = random_node();
    if (!node || pins_.size() >= 2) return;
    pins_.emplace_back(tree_.pin(node), twin_.pin(node));
  }
  void unpin() {
    if (!pins_.empty()) pins_.pop_back();
  }

  std::string make_room() {
    const auto resident = static_cast<unsigned>(tree_.bytes().resident);
    EvictionPolicy policy;
    const bool small_lots = make_.one_in(4);
    if (small_lots) policy.candidates_max = 1 + below(3);
    RoomRequest request{.needed = 1 + below(resident + resident / 8 + 1), .now = now_};
    if (make_.one_in(3)) request.growing = {random_node()};
    if (make_.one_in(3)) request.loop = &returns_;
    Judge judge(twin_, request, policy);
    if (const auto all = judge.choices(); !all.empty() && make_.one_in(3)) {
      request.worth = all[below(static_cast<unsigned>(all.size()))].value;
    }
    const std::string wrong = judge.replay(evict_bytes(tree_, request, policy), !small_lots);
    if (!wrong.empty()) return wrong;
    if (tree_.bytes() != twin_.bytes()) return "the trees differ";
    const auto violations = tree_.check();
    return violations.empty() ? std::string{} : violations.front();
  }

  tree::TreeMaker make_;
  tree::TokenTree tree_;
  tree::TokenTree twin_;
  std::vector<std::pair<tree::Pin, tree::Pin>> pins_;
  std::vector<tree::KnownPath> known_;
  ReturnAges returns_;
  tree::Tick now_ = 1;
};

TEST(EvictionModel, EveryVictimIsTheLeastValuableOfAllThatMayGo) {
  constexpr tree::StateNeeds kKinds[] = {tree::kHybrid, tree::kAttention, tree::kRecurrent,
                                         kNothing};
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Twins twins(kKinds[seed % 4], seed % 3 == 0 ? 150 : 8, seed);
    for (int step = 0; step < 40; ++step) ASSERT_EQ(twins.step(), "") << "step " << step;
  }
}

}  // namespace
}  // namespace holdfast::plan
