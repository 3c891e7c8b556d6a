// TreeChecker verifies TREE-1..TREE-13 of token_tree.h, each from the nodes alone: it
// recounts, and believes no sum, flag, list or index.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tree/tree_core.h"

namespace holdfast::tree {

class TreeChecker {
 public:
  explicit TreeChecker(const TreeCore& core) : core_(core) {}

  // Each violation begins with the number of its invariant.
  [[nodiscard]] std::vector<std::string> run();

 private:
  struct Seen {  // of one object
    ByteCount bytes = 0;
    ByteKind kind = ByteKind::kBlocks;
    std::uint32_t users = 0;
    std::uint32_t pinned_users = 0;
  };

  void expect(bool holds, const char* invariant, const Node& node, const char* what);
  void expect(bool holds, const char* invariant, const char* what);

  void collect_nodes();
  void check_children(const Node& node);  // TREE-1, TREE-2
  void check_ledger();                    // TREE-3
  void check_pins();                      // TREE-4
  void check_uses(const Node& node);      // TREE-5
  void check_snapshot(const Node& node);  // TREE-6
  void check_reach(const Node& node);     // TREE-7
  void check_sums(const Node& node);      // TREE-8
  void check_ghost();                     // TREE-9
  void check_lists();                     // TREE-10
  void check_order(const Node& node);     // TREE-11
  void check_places(const Node& node);    // TREE-12
  void check_notes(const Node& node);     // TREE-13

  void see(const void* object, ByteCount bytes, ByteKind kind, const Node& user);

  const TreeCore& core_;
  std::vector<const Node*> nodes_;  // parents before their children
  std::map<const void*, Seen> seen_;
  std::map<const Node*, std::size_t> row_order_;  // place in the list of rows
  std::vector<std::string> violations_;
};

}  // namespace holdfast::tree
