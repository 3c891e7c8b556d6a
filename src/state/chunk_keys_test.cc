#include "state/chunk_keys.h"

#include <gtest/gtest.h>

#include <random>

#include "state/grid.h"

namespace holdfast {
namespace {

constexpr Token kEnd = 9;

struct Keyed {
  Tokens tokens;
  std::vector<TokenPos> cuts;
  Tokens keys;
};

Keyed keyed(Tokens tokens) {
  static const Grid grid(GridRule{64, {{kEnd}}});
  Keyed made{std::move(tokens), {}, {}};
  made.cuts = grid.cuts(made.tokens);
  made.keys = chunk_keys(made.tokens, made.cuts);
  return made;
}

TEST(ChunkKeys, PartAtTheStartOfTheChunkInWhichTokensPart) {
  const Keyed a = keyed({1, 2, 3, kEnd, 4, 5, 6, 7, kEnd, 1});
  const Keyed b = keyed({1, 2, 3, kEnd, 4, 5, 6, 8, kEnd, 1});
  EXPECT_EQ(common_prefix(a.tokens, b.tokens), 7);
  EXPECT_EQ(common_prefix(a.keys, b.keys), 4);
}

TEST(ChunkKeys, TokensBeyondTheLastCutAreTheirOwnKeys) {
  const Keyed a = keyed({1, 2, kEnd, 5, 6});
  EXPECT_EQ(a.keys[3], 5);
  EXPECT_EQ(a.keys[4], 6);
}

// Over random sequences that share random prefixes.
TEST(ChunkKeys, AgreeExactlyAsFarAsWholeChunksDo) {
  std::mt19937 random(1);
  const auto some = [&](std::size_t count) {
    Tokens tokens(count);
    for (Token& token : tokens) token = static_cast<Token>(random() % 40);
    return tokens;
  };
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    const Tokens first = some(random() % 300);
    Tokens second(first.begin(), first.begin() + random() % (first.size() + 1));
    const Tokens more = some(random() % 100);
    second.insert(second.end(), more.begin(), more.end());
    const Keyed a = keyed(first);
    const Keyed b = keyed(second);
    const TokenPos common = common_prefix(a.tokens, b.tokens);
    TokenPos whole = 0;  // the deepest cut of both that is not beyond `common`
    for (const TokenPos cut : a.cuts) {
      if (cut <= common) whole = cut;
    }
    const TokenPos agreed = common_prefix(a.keys, b.keys);
    EXPECT_GE(agreed, whole);
    EXPECT_LE(agreed, common) << "equal keys mean equal tokens";
    const bool chunk_of_a_goes_on = !a.cuts.empty() && a.cuts.back() > whole;
    const bool chunk_of_b_goes_on = !b.cuts.empty() && b.cuts.back() > whole;
    if (common > whole && (chunk_of_a_goes_on || chunk_of_b_goes_on)) {
      EXPECT_EQ(agreed, whole);
    }
  }
}

}  // namespace
}  // namespace holdfast
