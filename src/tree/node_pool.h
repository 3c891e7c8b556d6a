// NodePool owns the nodes and hands out ids that are never used twice.
#pragma once

#include <memory>
#include <vector>

#include "base/check.h"
#include "tree/node.h"

namespace holdfast::tree {

class NodePool {
 public:
  Node& make() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    Slot& slot = slots_[free_.back()];
    slot.node = std::make_unique<Node>();
    slot.node->id = {free_.back(), ++slot.generation};
    free_.pop_back();
    ++size_;
    return *slot.node;
  }

  void destroy(Node& node) {
    CHECK(find(node.id) == &node);
    free_.push_back(node.id.index);
    slots_[node.id.index].node.reset();
    --size_;
  }

  // Null when the node is gone.
  [[nodiscard]] Node* find(NodeId id) const {
    if (!id || id.index >= slots_.size()) return nullptr;
    Node* node = slots_[id.index].node.get();
    return node && node->id == id ? node : nullptr;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::unique_ptr<Node> node;
    std::uint32_t generation = 0;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace holdfast::tree
