#include "tier/path_count.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tier/testing/blob_maker.h"

namespace holdfast::tier {
namespace {

constexpr SpaceKey kSpace{1, 2};

Tokens line(std::size_t count, Token value) { return Tokens(count, value); }

BlobPath rows(const Tokens& tokens, TokenPos begin) {
  PathNamer names(kSpace);
  names.append(tokens);
  return BlobPath::of_rows(kSpace, names, tokens, {begin, length_of(tokens)});
}
BlobPath place(const Tokens& tokens) {
  PathNamer names(kSpace);
  names.append(tokens);
  return BlobPath::of_place(kSpace, names, tokens, length_of(tokens));
}

TEST(PathCount, ASharedBeginningCountsOnce) {
  Tokens one = line(100, 1), two = line(100, 1);
  two.resize(70);
  two.resize(90, 2);
  const std::vector<BlobPath> paths = {rows(one, 0), rows(two, 0), place(line(70, 1)), place(one)};
  const PathCount count = count_paths(paths);
  EXPECT_EQ(count.paths, 2U);
  EXPECT_EQ(count.tokens, 120U);
  EXPECT_EQ(count.deepest, 100);
  EXPECT_EQ(count_paths({}).paths, 0U);
}

TEST(PathCount, WhatGoesOnAtABoundaryIsNoEnd) {
  const Tokens whole = line(200, 1);
  const Tokens front(whole.begin(), whole.begin() + 128);
  EXPECT_EQ(count_paths(std::vector{rows(front, 0)}).paths, 1U);
  EXPECT_EQ(count_paths(std::vector{rows(front, 0), rows(whole, 128)}).paths, 1U);
  EXPECT_EQ(count_paths(std::vector{rows(front, 0), rows(whole, 128)}).tokens, 200U);
}

// Against a set of all beginnings. Every path is there from 0, so that nothing is cut in two.
TEST(PathCount, AsAPlainListCountsThem) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    std::set<Tokens> beginnings, ends;
    std::vector<BlobPath> paths;
    for (int i = 0; i < 8; ++i) {
      Tokens tokens(1 + random() % 300);
      for (std::size_t at = 0; at < tokens.size(); ++at)
        tokens[at] = static_cast<Token>(at % 40 == 0 ? random() % 2 : 0);
      paths.push_back(rows(tokens, 0));
      if (random() % 2 == 0) paths.push_back(place(tokens));
      if (tokens.size() > 10) paths.push_back(rows(tokens, static_cast<TokenPos>(random() % 10)));
      for (std::size_t size = 1; size <= tokens.size(); ++size)
        beginnings.insert(Tokens(tokens.begin(), tokens.begin() + static_cast<long>(size)));
      ends.insert(tokens);
    }
    std::uint64_t tips = 0;
    for (const Tokens& end : ends) {
      const auto next = ends.upper_bound(end);
      tips += next == ends.end() || common_prefix(end, *next) < length_of(end) ? 1 : 0;
    }
    const PathCount count = count_paths(paths);
    EXPECT_EQ(count.tokens, beginnings.size());
    EXPECT_EQ(count.paths, tips);
  }
}

}  // namespace
}  // namespace holdfast::tier
