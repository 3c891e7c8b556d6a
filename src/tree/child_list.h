// ChildList: a node's children, found by the first token of their edge.
//
// Most nodes have exactly one child, so one is held in place and costs a match
// no cache miss of its own. More are a sorted array: seven thousand children at
// one node (seen in public traces) are 13 steps of a search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/check.h"
#include "state/tokens.h"

namespace holdfast::tree {

struct Node;

class ChildList {
 public:
  struct Entry {
    Token first = 0;
    Node* node = nullptr;
  };

  [[nodiscard]] std::span<const Entry> all() const {
    if (!many_.empty()) return many_;
    return {&one_, one_.node ? 1U : 0U};
  }
  [[nodiscard]] std::size_t size() const { return all().size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // The child, if there is exactly one.
  [[nodiscard]] Node* only() const { return one_.node; }

  [[nodiscard]] Node* find(Token first) const {
    if (many_.empty()) return one_.node && one_.first == first ? one_.node : nullptr;
    const auto it = std::ranges::lower_bound(many_, first, {}, &Entry::first);
    return it != many_.end() && it->first == first ? it->node : nullptr;
  }

  // REQUIRES: no child begins with `first`.
  void add(Token first, Node* child) {
    CHECK(find(first) == nullptr);
    if (empty()) {
      one_ = {first, child};
      return;
    }
    if (one_.node) many_.push_back(one_);
    one_ = {};
    many_.insert(std::ranges::lower_bound(many_, first, {}, &Entry::first), {first, child});
  }

  // REQUIRES: a child begins with `first`, here and below.
  void replace(Token first, Node* child) {
    CHECK(find(first) != nullptr);
    (one_.node ? one_ : *std::ranges::lower_bound(many_, first, {}, &Entry::first)).node = child;
  }

  void remove(Token first) {
    CHECK(find(first) != nullptr);
    one_ = {};
    std::erase_if(many_, [first](const Entry& entry) { return entry.first == first; });
    if (many_.size() != 1) return;
    one_ = many_.front();
    many_ = {};
  }

 private:
  Entry one_;                // used when there is one child
  std::vector<Entry> many_;  // used when there are two or more; ascending
};

}  // namespace holdfast::tree
