// NodePool owns the nodes and hands out ids that are never used twice.
//
// Nodes lie in slabs, in the order in which they were made: those of one path, which
// a match reads one after the other, are neighbours as a rule.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "tree/node.h"

namespace holdfast::tree {

class NodePool {
 public:
  Node& make() {
    if (free_.empty()) add_slab();
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slot_at(index);
    slot.node.emplace();
    slot.node->id = {index, ++slot.generation};
    ++size_;
    return *slot.node;
  }

  void destroy(Node& node) {
    CHECK(find(node.id) == &node);
    const std::uint32_t index = node.id.index;
    free_.push_back(index);
    slot_at(index).node.reset();
    --size_;
  }

  // Null when the node is gone.
  [[nodiscard]] Node* find(NodeId id) const {
    if (!id || id.index >= slabs_.size() * kSlabNodes) return nullptr;
    std::optional<Node>& node = slot_at(id.index).node;
    return node && node->id == id ? &*node : nullptr;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kSlabNodes = 256;
  struct Slot {
    std::optional<Node> node;
    std::uint32_t generation = 0;
  };
  using Slab = std::array<Slot, kSlabNodes>;

  [[nodiscard]] Slot& slot_at(std::uint32_t index) const {
    return (*slabs_[index / kSlabNodes])[index % kSlabNodes];
  }
  void add_slab() {
    const auto first = static_cast<std::uint32_t>(slabs_.size() * kSlabNodes);
    slabs_.push_back(std::make_unique<Slab>());
    for (std::size_t i = kSlabNodes; i-- > 0;)
      free_.push_back(first + static_cast<std::uint32_t>(i));
  }

  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<std::uint32_t> free_;  // the next one to be used is last
  std::size_t size_ = 0;
};

}  // namespace holdfast::tree
