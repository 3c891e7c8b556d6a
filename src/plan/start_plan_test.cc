#include "plan/start_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <random>
#include <tuple>

#include "tree/testing/tree_fixture.h"

namespace holdfast::plan {

// So that a failing test says what was planned.
static std::ostream& operator<<(std::ostream& out, const StartPlan& plan) {
  return out << "slot " << plan.slot << ", " << start_source_name(plan.source) << ", reused "
             << plan.reused << ", cost " << plan.cost;
}

namespace {

using enum StartSource;

constexpr ByteCount kKiB = 1024;

bool anywhere(TokenPos /*position*/) { return true; }
std::function<bool(TokenPos)> only_at(TokenPos length) {
  return [length](TokenPos position) { return position == length; };
}
std::function<bool(TokenPos)> last_tokens(TokenPos length, TokenPos depth) {
  return [=](TokenPos position) { return length - position <= depth; };
}

// Places of a matched path, without a tree.
tree::Match hybrid_match(TokenPos matched, const std::vector<tree::Stop>& stops) {
  tree::Match match{.matched = matched, .covered = matched, .stops = stops};
  if (!stops.empty()) match.node = stops.back().node;
  return match;
}
tree::Match attention_match(TokenPos covered, const std::vector<tree::Stop>& stops) {
  tree::Match match = hybrid_match(covered, stops);
  match.truncates_anywhere = true;
  return match;
}
tree::Stop checkpoint(std::uint32_t node, TokenPos position, Hints marks = {}) {
  return {{node, 1}, position, true, true, marks};
}
tree::Stop place(std::uint32_t node, TokenPos position, Hints marks = {}) {
  return {{node, 1}, position, false, true, marks};
}

// --- by hand -------------------------------------------------------------------
//
// A prompt of 1000 tokens with a cut at each 100; a system block of 300.
class Start : public ::testing::Test {
 protected:
  Start() {
    for (TokenPos cut = 100; cut <= 1000; cut += 100) cuts_.push_back(cut);
    input_.prompt_length = 1000;
    input_.costs = {.bytes_per_token = kKiB, .bytes_per_snapshot = 0, .token = 256 * kKiB};
  }
  void make_hybrid() { input_.costs.bytes_per_snapshot = 600 * kKiB; }

  StartPlan plan() {
    input_.cuts = cuts_;
    input_.slots = slots_;
    const StartPlan planned = plan_start(input_);
    EXPECT_EQ(check_start_plan(input_, planned), std::vector<std::string>{}) << planned;
    return planned;
  }
  void expect(int slot, StartSource source, TokenPos reused, std::vector<StartAction> actions) {
    const StartPlan planned = plan();
    EXPECT_EQ(std::tuple(planned.slot, planned.source, planned.reused),
              std::tuple(slot, source, reused))
        << planned;
    EXPECT_TRUE(planned.actions == actions) << planned.actions.size() << " actions";
  }
  [[nodiscard]] static ReadPrompt read_from(TokenPos reused) { return {{reused, 1000}}; }

  StartInput input_;
  std::vector<TokenPos> cuts_;
  std::vector<LiveState> slots_;
};

TEST_F(Start, WithNothingKnownEverythingIsRead) {
  slots_ = {{.slot = 3}};
  expect(3, kNothing, 0, {read_from(0)});
  EXPECT_EQ(plan().cost, 1000 * 256 * kKiB);
}

TEST_F(Start, AStrangerIsClearedAwayAndTheLeastRecentlyUsedOneFirst) {
  slots_ = {{.slot = 0, .length = 50, .can_truncate = anywhere, .last_used = 7},
            {.slot = 1, .length = 50, .can_truncate = anywhere, .last_used = 5}};
  expect(1, kNothing, 0, {ClearSlot{}, read_from(0)});
}

TEST_F(Start, AConversationThatGoesOnKeepsItsWholeState) {
  slots_ = {{.slot = 0},
            {.slot = 1, .length = 870, .common = 870, .exact = 800, .can_truncate = only_at(870)}};
  expect(1, kLive, 870, {read_from(870)});
}

TEST_F(Start, APromptWhoseEndIsKnownNeedNotBeReadAtAll) {
  make_hybrid();
  cuts_.pop_back();
  tree::Match match = hybrid_match(1000, {checkpoint(1, 900), checkpoint(2, 1000)});
  match.length = 1000;
  input_.match = &match;
  slots_ = {{.slot = 0}};
  for (const bool exact_prompts : {false, true}) {
    input_.exact_prompts = exact_prompts;
    input_.end_known = false;
    expect(0, kMemory, 900, {RestoreState{{1, 1}, 900}, read_from(900)});
    input_.end_known = true;
    expect(0, kMemory, 1000, {RestoreState{{2, 1}, 1000}, read_from(1000)});
  }
  input_.exact_prompts = false;
  slots_ = {
      {.slot = 0, .length = 1000, .common = 1000, .exact = 900, .can_truncate = only_at(1000)}};
  expect(0, kLive, 1000, {read_from(1000)});
}

TEST_F(Start, WherePromptsAreExactDecodedTokensAreReadAgain) {
  input_.exact_prompts = true;
  slots_ = {{.slot = 0, .length = 870, .common = 870, .exact = 800, .can_truncate = anywhere}};
  expect(0, kLive, 800, {TruncateLive{800}, read_from(800)});
  slots_[0].can_truncate = only_at(870);
  expect(0, kNothing, 0, {ClearSlot{}, read_from(0)});
  slots_[0].exact = slots_[0].length = slots_[0].common = 800;
  slots_[0].can_truncate = only_at(800);
  expect(0, kLive, 800, {read_from(800)});
}

// The prompt ends at 950, inside a chunk that the slot has read up to 1000: its rows there are not
// those of the prompt's own, shorter chunk.
TEST_F(Start, WherePromptsAreExactNoSnapshotJoinsRowsOfALongerChunk) {
  make_hybrid();
  input_.prompt_length = 950;
  cuts_.pop_back();
  tree::Match match = hybrid_match(950, {checkpoint(1, 900), checkpoint(2, 950)});
  match.length = 950;
  input_.match = &match;
  input_.end_known = true;
  slots_ = {{.slot = 0, .length = 1000, .common = 950, .exact = 1000}};
  input_.exact_prompts = false;
  EXPECT_EQ(plan().source, kSnapshotInPlace);
  input_.exact_prompts = true;
  EXPECT_EQ(plan().source, kMemory);
  EXPECT_EQ(plan().reused, 950);
}

TEST_F(Start, AnEditedMessageKeepsWhatLiesBeforeTheLastCut) {
  slots_ = {{.slot = 0, .length = 990, .common = 750, .exact = 900, .can_truncate = anywhere}};
  expect(0, kLive, 700, {TruncateLive{700}, read_from(700)});
}

TEST_F(Start, OfAnIdenticalPromptTheLastTokenIsReadAgain) {
  slots_ = {{.slot = 0, .length = 1020, .common = 1000, .exact = 1000, .can_truncate = anywhere}};
  expect(0, kLive, 900, {TruncateLive{900}, read_from(900)});
  slots_[0].exact = 900;  // the rest was never on the grid, so it is kept where it is
  expect(0, kLive, 999, {TruncateLive{999}, read_from(999)});
}

TEST_F(Start, APromptThatIsAPrefixOfTheLiveStateCutsIt) {
  slots_ = {{.slot = 0, .length = 5000, .common = 1000, .exact = 5000, .can_truncate = anywhere}};
  expect(0, kLive, 900, {TruncateLive{900}, read_from(900)});
}

TEST_F(Start, ARecurrentSlotOneTokenBeyondGoesBackIfItCan) {
  slots_ = {{.slot = 0, .length = 871, .common = 870, .exact = 800}};
  slots_[0].can_truncate = last_tokens(871, 1);
  expect(0, kLive, 870, {TruncateLive{870}, read_from(870)});
  slots_[0].can_truncate = only_at(871);
  expect(0, kNothing, 0, {ClearSlot{}, read_from(0)});
}

TEST_F(Start, ACutThatIsRefusedIsFollowedByTheOneBefore) {
  slots_ = {{.slot = 0, .length = 990, .common = 750, .exact = 900}};
  slots_[0].can_truncate = [](TokenPos position) { return position <= 500; };
  expect(0, kLive, 500, {TruncateLive{500}, read_from(500)});
}

TEST_F(Start, ASnapshotJoinsTheRowsThatTheSlotStillHas) {
  make_hybrid();
  const tree::Match match = hybrid_match(950, {checkpoint(1, 300), checkpoint(2, 700)});
  input_.match = &match;
  slots_ = {{.slot = 0},
            {.slot = 1, .length = 820, .common = 750, .exact = 800, .can_truncate = only_at(820)}};
  expect(1, kSnapshotInPlace, 700, {LoadSnapshot{{2, 1}, 700}, read_from(700)});
  EXPECT_EQ(plan().bytes_in, 600 * kKiB);
}

TEST_F(Start, RowsAndSnapshotComeFromMemoryWhereTheSlotHasNeither) {
  make_hybrid();
  const tree::Match match = hybrid_match(950, {checkpoint(1, 300), checkpoint(2, 700)});
  input_.match = &match;
  slots_ = {{.slot = 0}};
  expect(0, kMemory, 700, {RestoreState{{2, 1}, 700}, read_from(700)});
  EXPECT_EQ(plan().bytes_in, (600 + 700) * kKiB);
}

TEST_F(Start, AStateOfAttentionIsRestoredAtACutInsideAnEdge) {
  const tree::Match match = attention_match(950, {place(1, 300)});
  tree::Match with_edge = match;
  with_edge.node = {2, 1};
  input_.match = &with_edge;
  slots_ = {{.slot = 0}};
  expect(0, kMemory, 900, {RestoreState{{2, 1}, 900}, read_from(900)});
  with_edge.covered = 310;
  expect(0, kMemory, 300, {RestoreState{{1, 1}, 300}, read_from(300)});
}

TEST_F(Start, ADecodedStateIsRestoredWhereItEnds) {
  const tree::Match match = attention_match(950, {place(1, 300), place(2, 930, Hint::kOffGrid)});
  input_.match = &match;
  slots_ = {{.slot = 0}};
  expect(0, kMemory, 930, {RestoreState{{2, 1}, 930}, read_from(930)});
  input_.exact_prompts = true;
  expect(0, kMemory, 900, {RestoreState{{2, 1}, 900}, read_from(900)});
}

TEST_F(Start, AnEmptySlotIsFilledFromMemoryBeforeAConversationIsBroken) {
  const tree::Match match = attention_match(300, {place(1, 300)});
  input_.match = &match;
  slots_ = {{.slot = 0},
            {.slot = 1, .length = 5000, .common = 300, .exact = 5000, .can_truncate = anywhere}};
  expect(0, kMemory, 300, {RestoreState{{1, 1}, 300}, read_from(300)});
  slots_[1].length = 400;  // little is lost, less than would have to be brought back
  expect(1, kLive, 300, {TruncateLive{300}, read_from(300)});
}

TEST_F(Start, WithoutMemoryABrokenConversationCountsInTokens) {
  slots_ = {{.slot = 0},
            {.slot = 1, .length = 500, .common = 300, .exact = 500, .can_truncate = anywhere}};
  expect(1, kLive, 300, {TruncateLive{300}, read_from(300)});
  slots_[1].length = 700;  // 400 tokens lost: more than 300 saved
  expect(0, kNothing, 0, {read_from(0)});
}

TEST_F(Start, WhatWouldBeLostIsStoredFirst) {
  const tree::Match match = attention_match(300, {place(1, 300)});
  input_.match = &match;
  slots_ = {{.slot = 0,
             .length = 500,
             .common = 100,
             .exact = 500,
             .can_truncate = anywhere,
             .unsaved = 500 * kKiB}};
  expect(0, kMemory, 300, {StoreLive{}, RestoreState{{1, 1}, 300}, read_from(300)});
  slots_[0].common = slots_[0].length = 400;
  expect(0, kLive, 400, {read_from(400)});
}

TEST_F(Start, AConversationThatIsSavedMakesWayBeforeOneThatIsNot) {
  const tree::Match match = attention_match(0, {});
  input_.match = &match;
  slots_ = {{.slot = 0, .length = 500, .can_truncate = anywhere, .unsaved = 1, .last_used = 1},
            {.slot = 1, .length = 500, .can_truncate = anywhere, .last_used = 9}};
  expect(1, kNothing, 0, {ClearSlot{}, read_from(0)});
}

TEST_F(Start, WhatTakesLongerToMoveThanToReadIsRead) {
  input_.costs.token = kKiB / 2;
  const tree::Match match = attention_match(900, {place(1, 900)});
  input_.match = &match;
  slots_ = {{.slot = 0}};
  expect(0, kNothing, 0, {read_from(0)});
}

TEST_F(Start, APromptOfOneTokenKeepsNothing) {
  input_.prompt_length = 1;
  slots_ = {{.slot = 0, .length = 5, .common = 1, .exact = 0, .can_truncate = anywhere}};
  expect(0, kNothing, 0, {ClearSlot{}, ReadPrompt{{0, 1}}});
}

TEST_F(Start, TheDeepestPlaceInMemoryDoesNotDependOnCosts) {
  const std::vector<TokenPos> cuts = {100, 200, 300};
  const tree::Match hybrid =
      hybrid_match(260, {checkpoint(1, 100), place(2, 200), checkpoint(3, 250, Hint::kOffGrid)});
  EXPECT_EQ(deepest_in_memory(hybrid, cuts, 999, false), 250);
  EXPECT_EQ(deepest_in_memory(hybrid, cuts, 999, true), 200);
  EXPECT_EQ(deepest_in_memory(hybrid, cuts, 199, false), 100);
  EXPECT_EQ(deepest_in_memory(hybrid, cuts, 99, false), 0);
  const tree::Match attention = attention_match(260, {place(1, 50)});
  EXPECT_EQ(deepest_in_memory(attention, cuts, 999, false), 200);
  EXPECT_EQ(deepest_in_memory(attention, cuts, 199, false), 100);
  EXPECT_EQ(deepest_in_memory(attention, cuts, 99, false), 0);
}

// --- broken plans ----------------------------------------------------------------

class BrokenStart : public Start {
 protected:
  BrokenStart() {
    make_hybrid();
    match_ = hybrid_match(
        950, {checkpoint(1, 300), place(2, 500), checkpoint(3, 650), checkpoint(4, 700)});
    match_.stops[1].restorable = false;
    input_.match = &match_;
    slots_ = {{.slot = 0,
               .length = 820,
               .common = 760,
               .exact = 800,
               .can_truncate = only_at(820),
               .unsaved = 5}};
    good_ = plan();
  }
  // The number of the first violation.
  [[nodiscard]] std::string verdict(const StartPlan& broken) const {
    const auto violations = check_start_plan(input_, broken);
    return violations.empty() ? "" : violations.front().substr(0, violations.front().find(':'));
  }
  [[nodiscard]] StartPlan kept(StartSource source, TokenPos reused) const {
    StartPlan other = good_;
    other.source = source;
    other.reused = reused;
    return other;
  }

  tree::Match match_;
  StartPlan good_;
};

TEST_F(BrokenStart, IsNoticedWhenKeepAndSourceDoNotAgree) {
  ASSERT_EQ(good_.source, kSnapshotInPlace);
  EXPECT_EQ(verdict(good_), "");
  EXPECT_EQ(verdict(kept(kMemory, 0)), "START-1");
  EXPECT_EQ(verdict(kept(kNothing, 700)), "START-1");
  EXPECT_EQ(verdict(kept(kMemory, 1000)), "START-1");
  EXPECT_EQ(verdict(kept(kMemory, -1)), "START-1");
}

TEST_F(BrokenStart, IsNoticedOffTheGrid) {
  EXPECT_EQ(verdict(kept(kMemory, 650)), "START-2");
  EXPECT_EQ(verdict(kept(kSnapshotInPlace, 650)), "START-2");
  slots_[0].can_truncate = anywhere;
  EXPECT_EQ(verdict(kept(kLive, 750)), "START-2");
}

TEST_F(BrokenStart, IsNoticedWhereNoStateIs) {
  EXPECT_EQ(verdict(kept(kLive, 700)), "START-3") << "it cannot be truncated there";
  EXPECT_EQ(verdict(kept(kSnapshotInPlace, 500)), "START-3");
  EXPECT_EQ(verdict(kept(kMemory, 500)), "START-3");
  EXPECT_EQ(verdict(kept(kMemory, 800)), "START-3");
  StartPlan elsewhere = good_;
  elsewhere.slot = 9;
  EXPECT_EQ(verdict(elsewhere), "START-3");
  slots_[0].common = 600;
  EXPECT_EQ(verdict(good_), "START-3") << "its rows are of another prompt";
  slots_[0].common = 760;
  slots_[0].exact = 600;
  EXPECT_EQ(verdict(good_), "");
  input_.exact_prompts = true;
  EXPECT_EQ(verdict(good_), "START-3") << "its rows are decoded";
  input_.match = nullptr;
  EXPECT_EQ(verdict(good_), "START-3");
  EXPECT_EQ(verdict(kept(kMemory, 700)), "START-3");
}

TEST_F(BrokenStart, IsNoticedByItsActions) {
  const std::vector<StartAction> actions = good_.actions;
  ASSERT_EQ(actions.size(), 3U);
  const auto acting = [&](std::vector<StartAction> other) {
    StartPlan broken = good_;
    broken.actions = std::move(other);
    return verdict(broken);
  };
  EXPECT_EQ(acting({}), "START-4");
  EXPECT_EQ(acting({actions[1], actions[2]}), "START-4") << "not stored";
  EXPECT_EQ(acting({actions[0], actions[2]}), "START-4") << "not loaded";
  EXPECT_EQ(acting({actions[0], actions[1]}), "START-4") << "not read";
  EXPECT_EQ(acting({actions[1], actions[0], actions[2]}), "START-4") << "stored too late";
  EXPECT_EQ(acting({actions[0], LoadSnapshot{{3, 1}, 700}, actions[2]}), "START-4")
      << "another node";
  EXPECT_EQ(acting({actions[0], actions[1], ReadPrompt{{650, 1000}}}), "START-4");
  EXPECT_EQ(acting({actions[0], actions[1], actions[2], actions[2]}), "START-4") << "read twice";
}

// --- against exhaustive search -----------------------------------------------------

// A random start over a real tree: short sequences over three letters.
class RandomStart {
 public:
  explicit RandomStart(std::uint32_t seed) : random_(seed), tree_(kKinds[below(4)]) {
    prompt_ = sequence(1 + below(14));
    for (TokenPos p = 1; p <= length_of(prompt_); ++p) {
      if (one_in(2)) cuts_.push_back(p);
    }
    for (unsigned n = below(6); n > 0; --n) commit();
    match_ = tree_.match(tree::kSpace, prompt_);
    for (unsigned n = 1 + below(3); n > 0; --n) slots_.push_back(slot(static_cast<int>(n)));
    input_.prompt_length = length_of(prompt_);
    input_.cuts = cuts_;
    input_.match = one_in(5) ? nullptr : &match_;
    input_.slots = slots_;
    input_.costs = {.bytes_per_token = below(20),
                    .bytes_per_snapshot = below(60),
                    .token = one_in(4) ? below(4) : 10 + below(90)};
    input_.costs.any_token = one_in(2) ? below(300) : 0;
    input_.exact_prompts = one_in(2);
    input_.end_known = one_in(3);
  }

  [[nodiscard]] const StartInput& input() const { return input_; }

  // The cheapest way to begin, by the order of the plan's own ties: its cost, how
  // much it keeps, and its slot.
  [[nodiscard]] std::tuple<ByteCount, TokenPos, int> best() const {
    using Rank = std::tuple<ByteCount, TokenPos, std::uint64_t, int>;
    std::vector<Rank> ranks;
    for (const LiveState& slot : slots_) {
      for (const StartSource source : {kNothing, kLive, kSnapshotInPlace, kMemory}) {
        const TokenPos limit = input_.prompt_length - (input_.end_known ? 0 : 1);
        for (TokenPos reused = 0; reused <= limit; ++reused) {
          if (!allowed(slot, source, reused)) continue;
          ranks.emplace_back(cost(slot, source, reused), -reused, slot.last_used, slot.slot);
        }
      }
    }
    const Rank rank = std::ranges::min(ranks);
    return {std::get<0>(rank), -std::get<1>(rank), std::get<3>(rank)};
  }

 private:
  static constexpr tree::StateNeeds kKinds[] = {tree::kHybrid, tree::kAttention, tree::kRecurrent,
                                                tree::kHybrid};

  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  bool one_in(unsigned n) { return below(n) == 0; }
  TokenPos position(std::size_t limit) {
    return static_cast<TokenPos>(below(static_cast<unsigned>(limit) + 1));
  }
  Tokens sequence(unsigned length) {
    Tokens tokens;
    for (; length > 0; --length) tokens.push_back(static_cast<Token>(below(3)));
    return tokens;
  }
  // Agrees with the prompt for a while, most of the time.
  Tokens relative() {
    Tokens tokens = sequence(1 + below(8));
    if (!one_in(6)) {
      tokens.insert(tokens.begin(), prompt_.begin(), prompt_.begin() + position(prompt_.size()));
    }
    return tokens;
  }

  void commit() {
    const Tokens tokens = relative();
    std::vector<ExtentBlockPtr> blocks;
    std::vector<SnapshotPtr> snapshots;
    std::vector<tree::PlacedHints> marks;
    const unsigned missing = 2 + below(20);
    for (TokenPos p = 1; p <= length_of(tokens); ++p) {
      if (!one_in(missing)) blocks.push_back(tree::make_block(p - 1, p));
      if (tree_.needs().snapshot && one_in(3)) snapshots.push_back(tree::make_snapshot(p));
      if (one_in(6)) marks.push_back({p, one_in(2) ? Hint::kOffGrid : Hint::kMessageEnd});
    }
    (void)tree_.commit({tree::kSpace, tokens, blocks, snapshots, marks, ++now_});
  }

  LiveState slot(int number) {
    LiveState slot{.slot = number, .unsaved = one_in(2) ? below(200) : 0, .last_used = below(3)};
    const Tokens tokens = one_in(4) ? Tokens{} : relative();
    const TokenPos length = length_of(tokens);
    slot.length = length;
    slot.common = common_prefix(tokens, prompt_);
    slot.exact = position(tokens.size());
    while (slot.exact > 0 && slot.exact <= slot.common && !is_cut(slot.exact)) --slot.exact;
    const auto depth = static_cast<TokenPos>(below(4));
    switch (below(3)) {
      case 0: slot.can_truncate = anywhere; break;
      case 1: slot.can_truncate = only_at(length); break;
      default: slot.can_truncate = last_tokens(length, depth); break;
    }
    return slot;
  }

  [[nodiscard]] bool is_cut(TokenPos p) const { return std::ranges::count(cuts_, p) > 0; }
  [[nodiscard]] bool has_stop(TokenPos p, const auto& fits) const {
    return std::ranges::any_of(match_.stops,
                               [&](const tree::Stop& s) { return s.position == p && fits(s); });
  }

  // START-1, START-2 and START-3 as they are written.
  [[nodiscard]] bool allowed(const LiveState& slot, StartSource source, TokenPos reused) const {
    if ((source == kNothing) != (reused == 0)) return false;
    if (source == kNothing) return true;
    const bool exact = input_.exact_prompts;
    const bool decoded =
        source == kLive
            ? reused > slot.exact
            : has_stop(reused, [](const tree::Stop& s) { return s.marks.has(Hint::kOffGrid); });
    const bool whole =
        reused == input_.prompt_length && source != kLive &&
        has_stop(reused, [](const tree::Stop& s) { return s.has_snapshot || s.restorable; });
    if (!is_cut(reused) && !whole && (exact || !decoded)) return false;
    const bool has_rows =
        reused <= slot.common && (!exact || (reused <= slot.exact && is_cut(reused)));
    if (source == kLive) return has_rows && slot.can_truncate(reused);
    if (!input_.match) return false;
    if (source == kSnapshotInPlace) {
      return has_rows && has_stop(reused, [](const tree::Stop& s) { return s.has_snapshot; });
    }
    if (match_.truncates_anywhere) return reused <= match_.covered;
    return has_stop(reused, [](const tree::Stop& s) { return s.restorable; });
  }

  [[nodiscard]] ByteCount cost(const LiveState& slot, StartSource source, TokenPos reused) const {
    const StartCosts& costs = input_.costs;
    ByteCount sum = reused < input_.prompt_length ? costs.any_token : 0;
    for (TokenPos p = reused; p < input_.prompt_length; ++p) sum += costs.token;
    if (source == kMemory) sum += static_cast<ByteCount>(reused) * costs.bytes_per_token;
    if (source == kMemory || source == kSnapshotInPlace) sum += costs.bytes_per_snapshot;
    const bool in_place = source == kLive || source == kSnapshotInPlace;
    const auto lost = static_cast<ByteCount>(slot.length - (in_place ? reused : 0));
    if (lost == 0) return sum;
    const ByteCount later = input_.match
                                ? (lost * costs.bytes_per_token + costs.bytes_per_snapshot) / 2
                                : lost * costs.token;
    return sum + slot.unsaved + later;
  }

  std::mt19937 random_;
  tree::TokenTree tree_;
  Tokens prompt_;
  std::vector<TokenPos> cuts_;
  tree::Match match_;
  std::vector<LiveState> slots_;
  StartInput input_;
  tree::Tick now_ = 0;
};

TEST(StartModel, NoOtherWayToBeginCostsLess) {
  std::map<StartSource, int> chosen;
  for (std::uint32_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const RandomStart start(seed);
    const StartPlan plan = plan_start(start.input());
    ASSERT_EQ(check_start_plan(start.input(), plan), std::vector<std::string>{}) << plan;
    ASSERT_EQ(std::tuple(plan.cost, plan.reused, plan.slot), start.best()) << plan;
    ++chosen[plan.source];
  }
  for (const StartSource source : {kNothing, kLive, kSnapshotInPlace, kMemory}) {
    EXPECT_GT(chosen[source], 500) << start_source_name(source) << " is hardly ever tried";
  }
}

}  // namespace
}  // namespace holdfast::plan
