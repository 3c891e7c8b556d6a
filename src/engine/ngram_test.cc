#include "engine/ngram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

namespace holdfast::engine {
namespace {

Tokens tokens_of(std::string_view text) { return {text.begin(), text.end()}; }

std::string text_of(const Tokens& tokens) { return {tokens.begin(), tokens.end()}; }

// What is proposed after `text`, whose last letter is not yet computed.
std::string proposed(std::string_view text, TokenPos most, NgramOptions options = {}) {
  NgramCompanion companion(1, options);
  companion.advance(SlotId{0}, tokens_of(text.substr(0, text.size() - 1)), 0);
  std::vector<DraftWish> wishes(1);
  wishes[0].next = text.back();
  wishes[0].most = most;
  wishes[0].least_probability = 0.99F;
  companion.draft(wishes);
  EXPECT_TRUE(companion.check().empty());
  return text_of(wishes[0].draft);
}

TEST(Ngram, ProposesWhatFollowedTheLastTime) {
  EXPECT_EQ(proposed("the cat sat on the mat. Then the cat s", 9), "at on the");
}

TEST(Ngram, NothingIsKnownOfNewText) {
  EXPECT_EQ(proposed("abcdefgh", 4), "");
  EXPECT_EQ(proposed("a", 4), "");
}

TEST(Ngram, ALongerMatchIsWorthMoreThanALaterOne) {
  EXPECT_EQ(proposed("wxyz1 qxyz2 yz3 wxyz", 1), "1");
  EXPECT_EQ(proposed("wxyz1 wxyz2 yz3 wxyz", 1), "2") << "of equals the latest";
  EXPECT_EQ(proposed("uvwxyz1 wxyz2 uvwxyz", 1), "1") << "which matches further back";
}

TEST(Ngram, AShortMatchCountsOnlyWhereTwoAgree) {
  EXPECT_EQ(proposed("yz1 pyz", 2), "");
  EXPECT_EQ(proposed("ayz1+ byz1- cyz", 3), "1");
  EXPECT_EQ(proposed("ayz1 byz2 cyz", 3), "");
  EXPECT_EQ(proposed("yz1 pyz", 2, {.sure_from = 2}), "1 ");
}

TEST(Ngram, WhatRepeatsGoesOn) {
  EXPECT_EQ(proposed("abcabcabc", 7), "abcabca");
  EXPECT_EQ(proposed("aaaaaa", 5), "aaaaa");
}

TEST(Ngram, HasNothingToSave) {
  NgramCompanion companion(1);
  companion.advance(SlotId{0}, tokens_of("abc"), 0);
  const std::vector<TokenRange> blocks = {{0, 2}, {2, 3}};
  const CompanionSaved saved = companion.save(SlotId{0}, blocks, 3);
  ASSERT_EQ(saved.rows.size(), 2U);
  EXPECT_TRUE(saved.rows[0].empty() && saved.rows[1].empty() && saved.place.empty());
  EXPECT_EQ(companion.shape().bytes_per_token + companion.shape().bytes_per_place, 0U);
}

// --- against an oracle that looks at everything -----------------------------------

class Oracle {
 public:
  Oracle(Tokens tokens, Token next, TokenPos most)
      : all_(std::move(tokens)), present_(length_of(all_)), most_(most) {
    all_.push_back(next);
  }

  Tokens propose() {
    for (TokenPos gram = 4; gram >= 2; --gram) {
      const auto ends = matches(gram);
      if (ends.empty()) continue;
      if (gram == 4)
        return continuation(
            *std::ranges::max_element(ends, {}, [&](TokenPos end) { return reach(end); }));
      if (gram == 3) return continuation(ends.front());
      if (ends.size() < 2) continue;
      Tokens both = continuation(ends[0]);
      both.resize(static_cast<std::size_t>(common_prefix(both, continuation(ends[1]))));
      if (!both.empty()) return both;
    }
    return {};
  }

 private:
  std::vector<TokenPos> matches(TokenPos gram) const {
    std::vector<TokenPos> ends;
    for (TokenPos end = present_; end >= gram && ends.size() < 8; --end) {
      if (reach(end) >= gram) ends.push_back(end);
    }
    return ends;
  }
  // How many tokens before `end` agree with the last ones.
  TokenPos reach(TokenPos end) const {
    TokenPos same = 0;
    while (same < std::min(end, 32) && all_[static_cast<std::size_t>(end - 1 - same)] ==
                                           all_[static_cast<std::size_t>(present_ - same)]) {
      ++same;
    }
    return same;
  }
  Tokens continuation(TokenPos end) const {
    Tokens grown = all_;
    for (TokenPos i = 0; i < most_; ++i) grown.push_back(grown[static_cast<std::size_t>(end + i)]);
    return {grown.end() - most_, grown.end()};
  }

  Tokens all_;
  TokenPos present_;
  TokenPos most_;
};

Tokens random_tokens(std::mt19937& random, std::size_t count, unsigned alphabet) {
  Tokens tokens(count);
  for (Token& token : tokens) token = static_cast<Token>(random() % alphabet);
  return tokens;
}

TEST(NgramModel, AgreesWithALookAtEverythingAfterAnyHistory) {
  constexpr unsigned kSeed = 23;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  int proposals = 0;
  for (int round = 0; round < 300; ++round) {
    const unsigned alphabet = 2 + random() % 8;
    NgramCompanion companion(2);
    std::vector<Tokens> slots(2);
    for (int step = 0; step < 60; ++step) {
      const SlotId slot{static_cast<int>(random() % 2)};
      Tokens& held = slots[static_cast<std::size_t>(slot.value)];
      if (random() % 4 == 0) {  // back to somewhere, or to another slot's tokens
        if (random() % 8 == 0) held = slots[random() % 2];
        held.resize(random() % (held.size() + 1));
        const Tokens more = random_tokens(random, random() % 40, alphabet);
        held.insert(held.end(), more.begin(), more.end());
        const Followed followed = companion.follow(slot, {.tokens = held});
        ASSERT_EQ(followed.held, length_of(held));
      } else {
        const Tokens more = random_tokens(random, 1 + random() % 12, alphabet);
        held.insert(held.end(), more.begin(), more.end());
        companion.advance(slot, more, 0);
      }
      std::vector<DraftWish> wishes(1);
      wishes[0].slot = slot;
      wishes[0].next = static_cast<Token>(random() % alphabet);
      wishes[0].most = 1 + static_cast<TokenPos>(random() % 9);
      companion.draft(wishes);
      ASSERT_EQ(wishes[0].draft, Oracle(held, wishes[0].next, wishes[0].most).propose())
          << "round " << round << ", step " << step;
      proposals += wishes[0].draft.empty() ? 0 : 1;
    }
    const auto violations = companion.check();
    ASSERT_TRUE(violations.empty()) << violations.front();
  }
  EXPECT_GT(proposals, 5000);
}

TEST(Ngram, FollowsALongPrompt) {
  std::mt19937 random(5);
  const Tokens prompt = random_tokens(random, 100'000, 30'000);
  NgramCompanion companion(1);
  const auto timed = [&](const char* what, TokenSpan tokens) {
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(companion.follow(SlotId{0}, {.tokens = tokens}).held, length_of(tokens));
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - before;
    std::printf("%s: %.2f ms\n", what, took.count());
  };
  timed("100K tokens, new", prompt);
  timed("the same again", prompt);
  timed("back by 10K", TokenSpan(prompt).first(90'000));
  EXPECT_TRUE(companion.check().empty());
}

}  // namespace
}  // namespace holdfast::engine
