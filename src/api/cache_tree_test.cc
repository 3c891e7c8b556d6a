#include "api/cache_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

using cache::ConversationStatus;

ConversationStatus held(Tokens keys, SpaceKey space = {1, 1}) {
  ConversationStatus one;
  one.tokens = static_cast<TokenPos>(keys.size());
  one.space = space;
  one.keys = std::move(keys);
  for (TokenPos at = 2; at <= one.tokens; at += 2) one.snapshots_at.push_back(at);
  return one;
}

std::vector<TokenPos> snapshots_above(const std::vector<CacheTreeNode>& nodes, std::size_t at) {
  std::vector<TokenPos> above;
  if (nodes[at].parent) above = snapshots_above(nodes, *nodes[at].parent);
  above.insert(above.end(), nodes[at].snapshots.begin(), nodes[at].snapshots.end());
  return above;
}

// CTREE-1 to 4, of any tree.
void expect_sound(const std::vector<ConversationStatus>& conversations) {
  const auto nodes = cache_tree(conversations);
  std::set<std::size_t> tips;
  std::map<std::pair<std::size_t, Token>, int> begun;  // by parent and first token
  const auto end_of = [&](std::size_t i) {
    while (!nodes[i].tip)
      i = static_cast<std::size_t>(std::ranges::find(nodes, i, &CacheTreeNode::parent) -
                                   nodes.begin());
    return *nodes[i].tip;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const CacheTreeNode& node = nodes[i];
    EXPECT_EQ(node.from, node.parent ? nodes[*node.parent].to : 0);  // CTREE-1
    EXPECT_TRUE(!node.parent || *node.parent < i);
    const ConversationStatus& through = conversations[end_of(i)];
    const auto place = std::pair(node.parent ? *node.parent : nodes.size() + through.space.low,
                                 through.keys.at(static_cast<std::size_t>(node.from)));
    EXPECT_EQ(++begun[place], 1);  // CTREE-2
    if (!node.tip) continue;
    EXPECT_EQ(node.to, conversations[*node.tip].tokens);
    EXPECT_TRUE(tips.insert(*node.tip).second);
    EXPECT_EQ(snapshots_above(nodes, i), conversations[*node.tip].snapshots_at);  // CTREE-4
  }
  EXPECT_EQ(tips.size(), conversations.size());
  EXPECT_TRUE(conversations.empty() || nodes.size() < 2 * conversations.size());  // CTREE-3
}

TEST(CacheTree, BranchesOverWhatIsShared) {
  const std::vector<ConversationStatus> some = {held({1, 2, 3, 4, 5}), held({1, 2, 9}),
                                                held({1, 2, 3, 7})};
  const auto nodes = cache_tree(some);
  ASSERT_EQ(nodes.size(), 5U);
  EXPECT_EQ(nodes[0].to, 2);
  EXPECT_EQ(nodes[0].conversations, 3U);
  EXPECT_EQ(nodes[1].to, 3);
  EXPECT_EQ(nodes[1].conversations, 2U);
  EXPECT_EQ(nodes[2].tip, 0U);
  EXPECT_EQ(nodes[3].tip, 2U);
  EXPECT_EQ(nodes[4].tip, 1U);
  EXPECT_EQ(nodes[4].parent, 0U);
  expect_sound(some);
}

TEST(CacheTree, SpacesShareNothing) {
  const std::vector<ConversationStatus> some = {held({1, 2, 3}), held({1, 2, 3}, {1, 2})};
  EXPECT_EQ(cache_tree(some).size(), 2U);
  expect_sound(some);
}

TEST(CacheTree, AConversationMayEndWhereAnotherGoesOn) {
  const std::vector<ConversationStatus> some = {held({1, 2, 3}), held({1, 2})};
  const auto nodes = cache_tree(some);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].tip, 1U);
  EXPECT_EQ(nodes[1].tip, 0U);
  EXPECT_TRUE(cache_tree({}).empty());
}

TEST(CacheTree, RandomTreesAreSound) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::set<std::pair<std::uint64_t, Tokens>> made;
    while (made.size() < 20) {
      Tokens keys(1 + random() % 8);
      for (Token& key : keys) key = static_cast<Token>(random() % 3);
      made.emplace(random() % 2, std::move(keys));
    }
    std::vector<ConversationStatus> some;
    for (const auto& [space, keys] : made) some.push_back(held(keys, {1, space}));
    std::shuffle(some.begin(), some.end(), random);
    expect_sound(some);
  }
}

TEST(CacheTree, IsAPage) {
  TestServer server;
  server.load();
  EXPECT_EQ(server.chat(R"(,"max_tokens":1)").status, 200);
  const Json tree = json_of(server.ask("GET", "/cache/tree?limit=8"));
  EXPECT_EQ(tree["object"], "cache.tree");
  EXPECT_EQ(tree["shown"], tree["conversations"]);
  EXPECT_TRUE(tree["nodes"].is_array());
  EXPECT_EQ(server.ask("GET", "/cache/tree?limit=1000").status, 400);
  EXPECT_EQ(server.ask("GET", "/cache/tree?limit=x").status, 400);
}

TEST(CacheTree, ABranchCanBeDropped) {
  serve::SchedulerOptions scheduling;
  scheduling.cache.memory.budget = ByteCount{1} << 20U;
  TestServer server({}, scheduling);
  server.load();
  const auto chat = [&](const std::string& text) {
    const std::string body = R"({"messages":[{"role":"user","content":")" + std::string(900, 'x') +
                             text + R"("}],"max_tokens":1})";
    const Json answer = json_of(server.ask("POST", "/v1/chat/completions", body));
    return answer["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>();
  };
  // Those that a slot holds too come first.
  const auto tips = [&] {
    std::vector<std::string> names;
    const Json tree = json_of(server.ask("GET", "/cache/tree"));
    for (const Json& node : tree["nodes"]) {
      if (node["tip"].is_null()) continue;
      names.insert(node["tip"]["slot"].is_null() ? names.end() : names.begin(),
                   node["tip"]["branch"].get<std::string>());
    }
    return names;
  };
  for (const char* text : {"one", "two", "three"}) (void)chat(text);
  const int whole = chat("three");
  while (tips().size() < 3) {  // an idle server puts what its slots hold into memory
  }
  const auto before = tips();
  const Json dropped = json_of(server.ask("DELETE", "/cache/tree?branch=" + before.front()));
  EXPECT_EQ(dropped["object"], "cache.dropped");
  EXPECT_GT(dropped["freed_bytes"], 0);
  EXPECT_EQ(tips().size(), before.size() - 1);
  const TestAnswer gone = server.ask("DELETE", "/cache/tree?branch=" + before.front());
  EXPECT_EQ(gone.status, 404);
  EXPECT_NE(gone.body.find("does not hold"), std::string::npos) << gone.body;
  EXPECT_LT(chat("three"), whole) << "it was left in its slot";
  for (const char* wrong :
       {"", "?branch=", "?branch=7", "?branch=7-", "?branch=0-0", "?branch=a-b"})
    EXPECT_EQ(server.ask("DELETE", std::string("/cache/tree") + wrong).status, 400) << wrong;
}

}  // namespace
}  // namespace holdfast::api
