// Radix: the tree that peers keep, with the rows of every edge and some states.
//
//   root --[0,40)-- A --[40,90)-- B*           * a state is held at the node's end
//                    \--[40,60)-- C*
//
// A node is there as long as its rows are. Splitting an edge leaves its state at the
// lower end, as peers do. Whose turn it is to go is the policy's business.
//
// Invariants, verified by the policies' tests through held():
//   X1  bytes() are the rows of all edges and all states
//   X2  a node's rows go only when it has no children
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "policy/policy.h"

namespace holdfast::policy {

class Radix {
 public:
  using Id = std::uint32_t;
  static constexpr Id kRoot = 0;
  static constexpr Id kNone = 0xffff'ffff;

  struct Node {
    Id parent = kNone;
    Prefix end;
    TokenPos begin = 0;
    std::uint32_t children = 0;
    bool alive = false;
    bool state = false;
    std::uint64_t used = 0;        // a request's path came through here
    std::uint64_t state_used = 0;  // its state was made or restored
    double used_s = 0;
    [[nodiscard]] TokenPos length() const { return end.position - begin; }
  };

  Radix(const PathTrie& trie, const ModelShape& shape) : trie_(trie), shape_(shape) {
    nodes_.push_back({.alive = true});
  }

  struct Match {
    std::vector<Id> nodes;  // matched whole, ascending
    TokenPos matched = 0;   // tokens whose rows are here
    Id partial = kNone;     // the node in whose edge the match ends
  };
  [[nodiscard]] Match match(const Path& path, TokenPos limit) const;

  // Makes the rows of the first `length` tokens present, with a node there. Returns it;
  // `added` counts the new rows' tokens.
  Id insert(const Path& path, TokenPos length, TokenPos& added);
  // False: there was one.
  bool add_state(Id node);
  void drop_state(Id node);
  // REQUIRES: it has no children. Its state goes, too.
  void drop_leaf(Id node);

  [[nodiscard]] const Node& node(Id id) const { return nodes_[id]; }
  [[nodiscard]] Node& node(Id id) { return nodes_[id]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }  // dead ones included
  [[nodiscard]] ByteCount row_bytes() const { return shape_.row_bytes * row_tokens_; }
  [[nodiscard]] ByteCount state_bytes() const { return shape_.state_bytes * states_; }
  [[nodiscard]] ByteCount bytes() const { return row_bytes() + state_bytes(); }

 private:
  [[nodiscard]] static std::uint64_t branch(Id parent, TrieNode first) {
    return (std::uint64_t{parent} << 32) | first;
  }
  // The branch under which a node hangs below its parent.
  [[nodiscard]] std::uint64_t branch_of(Id node) const {
    return branch(nodes_[node].parent, trie_.holder(nodes_[node].end.node, nodes_[node].begin + 1));
  }
  [[nodiscard]] Id child(Id parent, const Path& path, TokenPos at) const;
  Id make(Id parent, TokenPos begin, Prefix end);
  Id split(Id node, TokenPos position);

  const PathTrie& trie_;
  const ModelShape& shape_;
  std::vector<Node> nodes_;
  std::vector<Id> free_;
  std::unordered_map<std::uint64_t, Id> children_;
  ByteCount row_tokens_ = 0;
  ByteCount states_ = 0;
};

// The deepest node of a match with a state, not beyond `limit`; kNone: there is none.
// Without states in the model, `matched` itself counts.
[[nodiscard]] Radix::Id deepest_state(const Radix& tree, const Radix::Match& match, TokenPos limit);

}  // namespace holdfast::policy
