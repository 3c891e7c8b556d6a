#include "tree/edge_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <vector>

namespace holdfast::tree {
namespace {

Tokens numbers(Token first, int count) {
  Tokens tokens;
  for (Token token = first; token < first + count; ++token) tokens.push_back(token);
  return tokens;
}
EdgeTokens laid_below(const EdgeTokens& above, TokenSpan tokens) {
  static StretchPool pool;
  return EdgeTokens::below(above, tokens, pool);
}
Tokens copy(const EdgeTokens& edge) { return {edge.begin(), edge.end()}; }

TEST(EdgeTokens, LieBehindTheEdgeAbove) {
  const EdgeTokens above = laid_below({}, numbers(0, 10));
  const EdgeTokens edge = laid_below(above, numbers(10, 20));
  EXPECT_EQ(edge.begin(), above.end());
  EXPECT_EQ(copy(edge), numbers(10, 20));
}

TEST(EdgeTokens, OfASecondChildLieElsewhere) {
  const EdgeTokens above = laid_below({}, numbers(0, 10));
  const EdgeTokens first = laid_below(above, numbers(10, 5));
  const EdgeTokens second = laid_below(above, numbers(50, 5));
  EXPECT_NE(second.begin(), above.end());
  EXPECT_EQ(copy(first), numbers(10, 5));
  EXPECT_EQ(copy(second), numbers(50, 5));
}

TEST(EdgeTokens, GiveTheirRoomBackAtTheEnd) {
  const EdgeTokens above = laid_below({}, numbers(0, 10));
  { const EdgeTokens gone = laid_below(above, numbers(10, 5)); }
  const EdgeTokens next = laid_below(above, numbers(20, 54));
  EXPECT_EQ(next.begin(), above.end());
}

TEST(EdgeTokens, StretchesGrowWithThePath) {
  std::deque<EdgeTokens> path;
  path.push_back(laid_below({}, numbers(0, 50)));
  int stretches = 1;
  for (int i = 1; i < 2000; ++i) {
    path.push_back(laid_below(path.back(), numbers(0, 50)));
    stretches += path[path.size() - 1].begin() != path[path.size() - 2].end();
  }
  EXPECT_LE(stretches, 6 + 2000 * 50 / static_cast<int>(EdgeTokens::kStretchMax - 50) + 1);
}

TEST(EdgeTokens, PartAndJoinWithoutMoving) {
  EdgeTokens edge = laid_below({}, numbers(0, 100));
  const Token* const place = edge.begin();
  EdgeTokens head = edge.take_head(30);
  EXPECT_EQ(copy(head), numbers(0, 30));
  EXPECT_EQ(copy(edge), numbers(30, 70));
  head.append(std::move(edge));
  EXPECT_EQ(copy(head), numbers(0, 100));
  EXPECT_EQ(head.begin(), place);
}

TEST(EdgeTokens, OutliveTheirNeighbours) {
  EdgeTokens above = laid_below({}, numbers(0, 10));
  const EdgeTokens edge = laid_below(above, numbers(10, 10));
  above = {};
  EXPECT_EQ(copy(edge), numbers(10, 10));
}

// Random parting, joining, growing and forgetting of chains, against plain vectors.
TEST(EdgeTokens, HoldWhatPlainVectorsHold) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  std::vector<std::pair<EdgeTokens, Tokens>> edges;
  edges.emplace_back();
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t at = below(edges.size());
    auto& [edge, plain] = edges[at];
    switch (below(4)) {
      case 0: {
        const Tokens more = numbers(static_cast<Token>(random() % 1000), 1 + below(200));
        EdgeTokens child = laid_below(edge, more);
        edges.emplace_back(std::move(child), more);
        break;
      }
      case 1:
        if (plain.size() < 2) break;
        {
          const std::size_t count = 1 + below(plain.size() - 1);
          EdgeTokens head = edge.take_head(count);
          Tokens plain_head(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(count));
          plain.erase(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(count));
          edges.emplace_back(std::move(head), plain_head);
        }
        break;
      case 2:
        if (plain.empty() || at + 1 >= edges.size() || edges.back().second.empty()) break;
        if (plain.size() > 5000) break;
        edge.append(std::move(edges.back().first));
        plain.insert(plain.end(), edges.back().second.begin(), edges.back().second.end());
        edges.pop_back();
        break;
      default:
        if (edges.size() < 50) break;
        if (at != 0) std::swap(edges[at], edges.back());
        edges.pop_back();
        break;
    }
    const auto& [seen, wanted] = edges[below(edges.size())];
    ASSERT_EQ(copy(seen), wanted) << "after step " << step;
  }
}

TEST(StretchPool, APieceIsTakenOnceAndServesAgain) {
  StretchPool pool;
  std::set<Token*> pieces;
  for (int i = 0; i < 300; ++i) {
    Token* const piece = pool.take();
    std::fill_n(piece, StretchPool::kTokens, i);
    EXPECT_TRUE(pieces.insert(piece).second);
  }
  EXPECT_EQ(pool.slab_count(), 3U);  // of 128 each
  std::set<Token> numbers_seen;
  for (Token* const piece : pieces) {
    EXPECT_EQ(std::count(piece, piece + StretchPool::kTokens, *piece), StretchPool::kTokens);
    numbers_seen.insert(*piece);
  }
  EXPECT_EQ(numbers_seen.size(), 300U);
  Token* const one = *pieces.begin();
  for (int i = 0; i < 200; ++i) {
    pool.give_back(one);
    for (Token* more = pool.take(); more != one; more = pool.take()) pieces.insert(more);
  }
  EXPECT_EQ(pool.slab_count(), 3U);
  for (Token* const piece : pieces) pool.give_back(piece);
  EXPECT_LE(pool.slab_count(), 1U);
}

TEST(StretchPool, LongPathsLieInIt) {
  StretchPool pool;
  {
    const EdgeTokens small = EdgeTokens::below({}, numbers(0, 100), pool);
    EXPECT_EQ(pool.slab_count(), 0U);
    const EdgeTokens large = EdgeTokens::below({}, numbers(0, StretchPool::kTokens), pool);
    EXPECT_EQ(pool.slab_count(), 1U);
    EXPECT_EQ(copy(large), numbers(0, StretchPool::kTokens));
    const EdgeTokens larger = EdgeTokens::below(large, numbers(0, 10'000), pool);
    EXPECT_EQ(copy(larger), numbers(0, 10'000));
  }
  EXPECT_LE(pool.slab_count(), 1U);
}

}  // namespace
}  // namespace holdfast::tree
