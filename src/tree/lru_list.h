// LruList: an intrusive list of nodes, oldest first.
//
// Intrusive because a request re-stamps every node of its path: moving a node
// to the end is a few pointer writes and no allocation. The list is kept in the
// order of the nodes' stamps; whoever changes a stamp moves the node.
#pragma once

#include <cstddef>

#include "base/check.h"

namespace holdfast::tree {

template <typename T>
struct LruHook {
  T* older = nullptr;
  T* newer = nullptr;
  bool linked = false;
};

template <typename T, LruHook<T> T::*kHook>
class LruList {
 public:
  [[nodiscard]] T* oldest() const { return oldest_; }
  [[nodiscard]] static T* newer(const T& item) { return (item.*kHook).newer; }
  [[nodiscard]] static bool holds(const T& item) { return (item.*kHook).linked; }
  [[nodiscard]] std::size_t size() const { return size_; }

  void push_newest(T& item) { link_between(item, newest_, nullptr); }
  // REQUIRES: `older` is in the list.
  void insert_after(T& item, T& older) { link_between(item, &older, (older.*kHook).newer); }

  void remove(T& item) {
    LruHook<T>& hook = item.*kHook;
    CHECK(hook.linked);
    (hook.older ? (hook.older->*kHook).newer : oldest_) = hook.newer;
    (hook.newer ? (hook.newer->*kHook).older : newest_) = hook.older;
    hook = {};
    --size_;
  }

  void move_to_newest(T& item) {
    if (newest_ == &item) return;
    remove(item);
    push_newest(item);
  }

 private:
  void link_between(T& item, T* older, T* newer) {
    LruHook<T>& hook = item.*kHook;
    CHECK(!hook.linked);
    hook = {older, newer, true};
    (older ? (older->*kHook).newer : oldest_) = &item;
    (newer ? (newer->*kHook).older : newest_) = &item;
    ++size_;
  }

  T* oldest_ = nullptr;
  T* newest_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace holdfast::tree
