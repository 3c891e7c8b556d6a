#include "tree/use_order.h"

namespace holdfast::tree {

// The joined node stands where the upper one stood in the list of rows: behind everything below
// it, before what is above.
void UseOrder::succeed(Node& parent, Node& child) {
  child.last_use = parent.last_use;
  Node* older = &parent;
  if (!BlockLru::holds(parent)) {
    if (!BlockLru::holds(child)) return;
    older = &child;
    for (Node* next = BlockLru::newer(child); next && next->last_use < child.last_use;) {
      older = next;
      next = BlockLru::newer(*next);
    }
  }
  if (older == &child) return;
  if (BlockLru::holds(child)) rows_.remove(child);
  rows_.insert_after(child, *older);
}

}  // namespace holdfast::tree
