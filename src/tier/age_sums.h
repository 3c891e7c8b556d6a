// AgeSums: bytes by when they were used, and how many of them are old enough.
//
//               t=40  sum 900                 sum_while(t < 30): at 40 no, go left; at 20 yes, take
//              /             \                its bytes and all that is older, go right ...
//        t=20  sum 500    t=70  sum 300
//
// A search tree by time that is a heap by a hash of the time (a treap), so it is about as deep as
// the logarithm of the times, in whichever order they come. Each node knows the bytes of its part.
//
// Invariants, verified by check():
//   AGES-1  times ascend from left to right
//   AGES-2  no node has a higher priority than the one above
//   AGES-3  each node's sum is its own bytes and its children's sums, and its time has an item
//
// Pure: no I/O, no clock. One owning thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "state/tokens.h"

namespace holdfast::tier {

class AgeSums {
 public:
  void add(std::int64_t time, ByteCount bytes);
  // REQUIRES: added before, with this many bytes.
  void remove(std::int64_t time, ByteCount bytes);
  [[nodiscard]] bool empty() const { return root_ == nullptr; }

  // REQUIRES: `old` holds up to some time and not from there on.
  template <typename Old>
  [[nodiscard]] ByteCount sum_while(const Old& old) const {
    ByteCount sum = 0;
    for (const Node* at = root_.get(); at != nullptr;) {
      const bool is_old = old(at->time);
      if (is_old) sum += at->bytes + sum_of(at->older);
      at = (is_old ? at->newer : at->older).get();
    }
    return sum;
  }

  // All times and their bytes, ascending.
  struct Entry {
    std::int64_t time = 0;
    ByteCount bytes = 0;
    bool operator==(const Entry&) const = default;
  };
  [[nodiscard]] std::vector<Entry> entries() const;
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  struct Node;
  using Tree = std::unique_ptr<Node>;
  struct Node {
    std::int64_t time = 0;
    std::uint64_t priority = 0;
    ByteCount bytes = 0;      // of this time
    std::uint64_t added = 0;  // of this time, less those removed
    ByteCount sum = 0;
    Tree older, newer;
  };
  [[nodiscard]] static ByteCount sum_of(const Tree& tree) { return tree ? tree->sum : 0; }
  static void add_up(Node& node);
  static void lift(Tree& tree, Tree Node::*side, Tree Node::*other);
  static void add_to(Tree& tree, std::int64_t time, ByteCount bytes);
  static void remove_from(Tree& tree, std::int64_t time, ByteCount bytes);
  [[nodiscard]] static Tree join(Tree older, Tree newer);
  static void collect(const Tree& tree, std::vector<Entry>& entries);
  static void check_node(const Node& node, std::vector<std::string>& violations);

  Tree root_;
};

}  // namespace holdfast::tier
