// PathTrie: all prompts and answers of a workload in one trie, made before the replay.
//
//   root --[0,40)-- 1 --[40,90)-- 2 --[90,95)-- 3      request 0: prompt ends at 2, answer at 3
//                    \--[40,60)-- 4 --[60,61)-- 5      request 1
//
// Every place where sequences part or end is a node, so policies compare paths by node
// numbers and never touch a token. A *Prefix* names the first `position` tokens of
// every sequence through its node: two sequences begin alike up to there exactly if
// they give the same Prefix.
//
// The trie also knows, for each request, the longest prefix that an earlier request or
// its answer had: what the best of all caches could reuse.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "policy/workload.h"

namespace holdfast::policy {

using TrieNode = std::uint32_t;

struct Prefix {
  TrieNode node = 0;  // whose edge holds the last token; 0, the root: nothing
  TokenPos position = 0;
  bool operator==(const Prefix&) const = default;
  [[nodiscard]] std::uint64_t key() const {
    return (std::uint64_t{node} << 32) | static_cast<std::uint32_t>(position);
  }
};

class PathTrie {
 public:
  explicit PathTrie(const Workload& workload);

  struct Node {
    TrieNode parent = 0;
    TokenPos begin = 0;
    TokenPos end = 0;
    std::uint32_t prompt_end_of = kNobody;  // the first request whose prompt ends here
  };
  static constexpr std::uint32_t kNobody = 0xffff'ffff;

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const Node& node(TrieNode node) const { return nodes_[node]; }
  // Where a request with its answer ends.
  [[nodiscard]] TrieNode end_of(std::size_t request) const { return ends_[request]; }
  // Tokens of the prompt that an earlier request or answer began with; not its last one.
  [[nodiscard]] TokenPos reusable(std::size_t request) const { return reusable_[request]; }
  // The ancestor-or-self of `node` whose edge holds the token before `position`.
  [[nodiscard]] TrieNode holder(TrieNode node, TokenPos position) const {
    while (nodes_[node].begin >= position && node != 0) node = nodes_[node].parent;
    return node;
  }

 private:
  void insert(std::uint32_t request);
  TrieNode split(TrieNode node, TokenPos position);
  [[nodiscard]] std::uint64_t branch(TrieNode parent, Token first) const {
    return (std::uint64_t{parent} << 32) | static_cast<std::uint32_t>(first);
  }

  const Workload& workload_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> source_;  // a request through each node
  std::unordered_map<std::uint64_t, TrieNode> children_;
  std::vector<TrieNode> ends_;
  std::vector<TokenPos> reusable_;
};

// The way of one request through the trie. Reused from request to request.
class Path {
 public:
  explicit Path(const PathTrie& trie) : trie_(trie), stamps_(trie.size(), 0) {}

  struct Step {
    TrieNode node = 0;
    TokenPos end = 0;
  };

  void follow(std::size_t request);
  [[nodiscard]] const PathTrie& trie() const { return trie_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] TokenPos length() const { return steps_.empty() ? 0 : steps_.back().end; }
  // REQUIRES: position <= length().
  [[nodiscard]] Prefix prefix(TokenPos position) const;
  [[nodiscard]] bool contains(TrieNode node) const { return stamps_[node] == stamp_; }
  // How much of a known prefix this path has.
  [[nodiscard]] TokenPos common(Prefix known) const;
  [[nodiscard]] bool begins_with(Prefix known) const { return common(known) == known.position; }

 private:
  const PathTrie& trie_;
  std::vector<std::uint32_t> stamps_;
  std::uint32_t stamp_ = 0;
  std::vector<Step> steps_;
};

}  // namespace holdfast::policy
