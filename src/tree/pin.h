// Pin keeps a path's rows and snapshots from being evicted while it lives.
#pragma once

#include <utility>

#include "tree/types.h"

namespace holdfast::tree {

class TokenTree;

// Move-only. An empty Pin holds nothing. The tree outlives its pins.
class Pin {
 public:
  Pin() = default;
  Pin(Pin&& other) noexcept
      : tree_(std::exchange(other.tree_, nullptr)), node_(std::exchange(other.node_, {})) {}
  Pin& operator=(Pin&& other) noexcept {
    release();
    tree_ = std::exchange(other.tree_, nullptr);
    node_ = std::exchange(other.node_, {});
    return *this;
  }
  ~Pin() { release(); }

  void release() noexcept;

 private:
  friend class TokenTree;
  Pin(TokenTree* tree, NodeId node) : tree_(tree), node_(node) {}

  TokenTree* tree_ = nullptr;
  NodeId node_;
};

}  // namespace holdfast::tree
