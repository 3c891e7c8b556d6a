#include "tree/edge_tokens.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace holdfast::tree {
namespace {

Tokens numbers(Token first, int count) {
  Tokens tokens;
  for (Token token = first; token < first + count; ++token) tokens.push_back(token);
  return tokens;
}
Tokens copy(const EdgeTokens& edge) { return {edge.begin(), edge.end()}; }

TEST(EdgeTokens, LieBehindTheEdgeAbove) {
  const EdgeTokens above = EdgeTokens::below({}, numbers(0, 10));
  const EdgeTokens edge = EdgeTokens::below(above, numbers(10, 20));
  EXPECT_EQ(edge.begin(), above.end());
  EXPECT_EQ(copy(edge), numbers(10, 20));
}

TEST(EdgeTokens, OfASecondChildLieElsewhere) {
  const EdgeTokens above = EdgeTokens::below({}, numbers(0, 10));
  const EdgeTokens first = EdgeTokens::below(above, numbers(10, 5));
  const EdgeTokens second = EdgeTokens::below(above, numbers(50, 5));
  EXPECT_NE(second.begin(), above.end());
  EXPECT_EQ(copy(first), numbers(10, 5));
  EXPECT_EQ(copy(second), numbers(50, 5));
}

TEST(EdgeTokens, GiveTheirRoomBackAtTheEnd) {
  const EdgeTokens above = EdgeTokens::below({}, numbers(0, 10));
  { const EdgeTokens gone = EdgeTokens::below(above, numbers(10, 5)); }
  const EdgeTokens next = EdgeTokens::below(above, numbers(20, 54));
  EXPECT_EQ(next.begin(), above.end());
}

TEST(EdgeTokens, StretchesGrowWithThePath) {
  std::deque<EdgeTokens> path;
  path.push_back(EdgeTokens::below({}, numbers(0, 50)));
  int stretches = 1;
  for (int i = 1; i < 2000; ++i) {
    path.push_back(EdgeTokens::below(path.back(), numbers(0, 50)));
    stretches += path[path.size() - 1].begin() != path[path.size() - 2].end();
  }
  EXPECT_LE(stretches, 6 + 2000 * 50 / static_cast<int>(EdgeTokens::kStretchMax - 50) + 1);
}

TEST(EdgeTokens, PartAndJoinWithoutMoving) {
  EdgeTokens edge = EdgeTokens::below({}, numbers(0, 100));
  const Token* const place = edge.begin();
  EdgeTokens head = edge.take_head(30);
  EXPECT_EQ(copy(head), numbers(0, 30));
  EXPECT_EQ(copy(edge), numbers(30, 70));
  head.append(std::move(edge));
  EXPECT_EQ(copy(head), numbers(0, 100));
  EXPECT_EQ(head.begin(), place);
}

TEST(EdgeTokens, OutliveTheirNeighbours) {
  EdgeTokens above = EdgeTokens::below({}, numbers(0, 10));
  const EdgeTokens edge = EdgeTokens::below(above, numbers(10, 10));
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
        EdgeTokens child = EdgeTokens::below(edge, more);
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

}  // namespace
}  // namespace holdfast::tree
