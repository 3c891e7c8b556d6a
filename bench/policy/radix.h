// Radix: the tree that peers keep, with the rows of every edge and some states.
//
//   root --[0,40)-- A --[40,90)-- B*           * a state is held at the node's end
//                    \--[40,60)-- C*
//
// A node is there as long as its rows are. Splitting an edge leaves its state at the
// lower end, as peers do. Which node is dropped next is decided by the policy.
//
// Invariants, tested by policies_test.cc through Policy::held() unless a CHECK is named:
//   RADIX-1  bytes() is the size of the rows of all edges and of all states
//   RADIX-2  a node's rows go only when it has no children (CHECK in drop_leaf)
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "policy/policy.h"

namespace holdfast::policy {

using RadixId = std::uint32_t;
inline constexpr RadixId kRadixRoot = 0;
inline constexpr RadixId kNoRadixNode = 0xffff'ffff;

struct RadixNode {
  RadixId parent = kNoRadixNode;
  Prefix end;
  TokenPos begin = 0;
  std::uint32_t children = 0;
  bool alive = false;
  bool state = false;
  std::uint64_t used = 0;        // when a request's path last came through here
  std::uint64_t state_used = 0;  // when its state was made or last restored
  double used_s = 0;
  [[nodiscard]] TokenPos length() const { return end.position - begin; }
};

struct RadixMatch {
  std::vector<RadixId> nodes;      // those whose whole edge matches, ascending
  TokenPos matched = 0;            // tokens whose rows are here
  RadixId partial = kNoRadixNode;  // the node in whose edge the match ends
};

class Radix {
 public:
  Radix(const PathTrie& trie, const ModelShape& shape) : trie_(trie), shape_(shape) {
    nodes_.push_back({.alive = true});
  }

  [[nodiscard]] RadixMatch match(const Path& path, TokenPos limit) const;

  // Makes the rows of the first `length` tokens present, with a node there. Returns it;
  // `added` counts the new rows' tokens.
  RadixId insert(const Path& path, TokenPos length, TokenPos& added);
  // False: there was one.
  bool add_state(RadixId node);
  void drop_state(RadixId node);
  // REQUIRES: it has no children. Its state goes, too.
  void drop_leaf(RadixId node);

  [[nodiscard]] const RadixNode& node(RadixId id) const { return nodes_[id]; }
  [[nodiscard]] RadixNode& node(RadixId id) { return nodes_[id]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }  // dead ones included
  [[nodiscard]] ByteCount row_bytes() const { return shape_.row_bytes * row_tokens_; }
  [[nodiscard]] ByteCount state_bytes() const { return shape_.state_bytes * states_; }
  [[nodiscard]] ByteCount bytes() const { return row_bytes() + state_bytes(); }

 private:
  [[nodiscard]] static std::uint64_t branch(RadixId parent, TrieNode first) {
    return (std::uint64_t{parent} << 32) | first;
  }
  // The branch under which a node hangs below its parent.
  [[nodiscard]] std::uint64_t branch_of(RadixId node) const {
    return branch(nodes_[node].parent, trie_.holder(nodes_[node].end.node, nodes_[node].begin + 1));
  }
  [[nodiscard]] RadixId child(RadixId parent, const Path& path, TokenPos at) const;
  RadixId make(RadixId parent, TokenPos begin, Prefix end);
  RadixId split(RadixId node, TokenPos position);

  const PathTrie& trie_;
  const ModelShape& shape_;
  std::vector<RadixNode> nodes_;
  std::vector<RadixId> free_;
  std::unordered_map<std::uint64_t, RadixId> children_;
  ByteCount row_tokens_ = 0;
  ByteCount states_ = 0;
};

// The deepest node of a match with a state, not beyond `limit`; kNoRadixNode: there is none.
// Without states in the model, `matched` itself counts.
[[nodiscard]] RadixId deepest_state(const Radix& tree, const RadixMatch& match, TokenPos limit);

}  // namespace holdfast::policy
