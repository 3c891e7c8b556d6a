#include "tier/path_name.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <set>

namespace holdfast::tier {
namespace {

constexpr SpaceKey kSpace{1, 2};

Tokens some_tokens(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tokens tokens(count);
  for (Token& token : tokens) token = static_cast<Token>(random());
  return tokens;
}

std::string hex(const PathName& name) {
  std::string text;
  for (const std::byte value : name.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(value));
    text += digits;
  }
  return text;
}

PathName name_of(SpaceKey space, TokenSpan tokens) {
  PathNamer namer(space);
  namer.append(tokens);
  return namer.name();
}

// Computed apart from this code (Python's hashlib): names in files must never change.
TEST(PathName, IsWhatThePageSays) {
  const Tokens tokens = {5, -1, 70000};
  EXPECT_EQ(hex(root_name(kSpace)), "d82ec6132da528c187d65be5cb1decd4");
  EXPECT_EQ(hex(name_of(kSpace, tokens)), "ff3ca5cd8987efb4a3476a65a1956440");
  Tokens many(130);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<Token>(i);
  EXPECT_EQ(hex(name_of(kSpace, many)), "7cc3e28f778acf9d627e8239a6743d10");
}

TEST(NAMES1, DoesNotDependOnThePieces) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const Tokens tokens = some_tokens(random() % 400, seed);
    PathNamer namer(kSpace);
    for (std::size_t at = 0; at < tokens.size();) {
      const std::size_t step = std::min(tokens.size() - at, std::size_t{random() % 150});
      namer.append(TokenSpan(tokens).subspan(at, step));
      at += step;
      ASSERT_EQ(namer.name(), name_of(kSpace, TokenSpan(tokens).first(at))) << "seed " << seed;
      ASSERT_EQ(namer.anchors().size(), at / kBlockTokens + 1) << "seed " << seed;
    }
    ASSERT_EQ(namer.length(), length_of(tokens));
  }
}

TEST(NAMES2, GoesOnFromAnyAnchor) {
  const Tokens tokens = some_tokens(300, 7);
  PathNamer whole(kSpace);
  whole.append(tokens);
  for (std::size_t i = 0; i < whole.anchors().size(); ++i) {
    const auto begin = static_cast<TokenPos>(i) * kBlockTokens;
    PathNamer tail(whole.anchors()[i], begin);
    tail.append(TokenSpan(tokens).subspan(static_cast<std::size_t>(begin)));
    EXPECT_EQ(tail.name(), whole.name());
    EXPECT_EQ(tail.length(), whole.length());
  }
}

TEST(PathName, TellsSpacesAndTokensApart) {
  std::set<PathName> names;
  const Tokens tokens = some_tokens(200, 3);
  for (const SpaceKey space : {SpaceKey{1, 2}, SpaceKey{2, 1}, SpaceKey{0, 0}}) {
    PathNamer namer(space);
    for (const Token token : tokens) {
      names.insert(namer.name());
      namer.append(TokenSpan(&token, 1));
    }
  }
  EXPECT_EQ(names.size(), 600U);
}

}  // namespace
}  // namespace holdfast::tier
