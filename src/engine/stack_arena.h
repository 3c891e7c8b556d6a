// StackArena: stacks of positions in a grammar, each named by its top. What two stacks share exists
// once, and equal stacks have equal names.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/grammar.h"

namespace holdfast::engine {

class StackArena {
 public:
  using Id = std::uint32_t;
  static constexpr Id kEmpty = 0;  // the stack without positions

  StackArena() { clear(); }

  [[nodiscard]] Id push(Id below, Grammar::Position position) {
    const std::uint64_t key = std::uint64_t{below} << 32U | position;
    const auto [known, added] = ids_.try_emplace(key, static_cast<Id>(nodes_.size()));
    if (added) nodes_.push_back({below, position});
    return known->second;
  }
  // REQUIRES: `stack` is not kEmpty.
  [[nodiscard]] Id below(Id stack) const { return nodes_[stack].below; }
  [[nodiscard]] Grammar::Position top(Id stack) const { return nodes_[stack].position; }

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  // About; a node, its entry in the map and the entry's bucket.
  [[nodiscard]] std::size_t bytes() const { return nodes_.size() * 56; }

  // Forgets all stacks but these, which get other names.
  void keep_only(std::vector<Id>& stacks) {
    std::vector<Id> renamed(nodes_.size(), kEmpty);
    for (Id one : stacks) {
      for (; one != kEmpty && renamed[one] == kEmpty; one = below(one)) renamed[one] = 1;
    }
    const std::vector<Node> old = std::move(nodes_);
    clear();
    for (Id one = 1; one < old.size(); ++one) {  // what lies below is older
      if (renamed[one] != kEmpty) renamed[one] = push(renamed[old[one].below], old[one].position);
    }
    for (Id& one : stacks) one = renamed[one];
  }

 private:
  struct Node {
    Id below;
    Grammar::Position position;
  };

  void clear() {
    nodes_ = {{kEmpty, 0}};
    ids_ = {};
  }

  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, Id> ids_;
};

}  // namespace holdfast::engine
