#include "tier/age_sums.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/hash.h"

namespace holdfast::tier {

void AgeSums::add(std::int64_t time, ByteCount bytes) { add_to(root_, time, bytes); }

void AgeSums::remove(std::int64_t time, ByteCount bytes) { remove_from(root_, time, bytes); }

void AgeSums::add_up(Node& node) {
  node.sum = node.bytes + sum_of(node.older) + sum_of(node.newer);
}

// The child on one side takes the place of its parent, which goes to the other.
void AgeSums::lift(Tree& tree, Tree Node::*side, Tree Node::*other) {
  Tree child = std::move((*tree).*side);
  (*tree).*side = std::move((*child).*other);
  add_up(*tree);
  (*child).*other = std::move(tree);
  tree = std::move(child);
}

void AgeSums::add_to(Tree& tree, std::int64_t time, ByteCount bytes) {
  if (tree == nullptr) {
    tree = std::make_unique<Node>();
    tree->time = time;
    tree->priority = hash_bytes(std::as_bytes(std::span(&time, 1)));
  }
  if (time == tree->time) {
    tree->bytes += bytes;
    ++tree->added;
  } else {
    const bool older = time < tree->time;
    Tree Node::*const side = older ? &Node::older : &Node::newer;
    add_to((*tree).*side, time, bytes);
    if (((*tree).*side)->priority > tree->priority) {
      lift(tree, side, older ? &Node::newer : &Node::older);
    }
  }
  add_up(*tree);
}

void AgeSums::remove_from(Tree& tree, std::int64_t time, ByteCount bytes) {
  CHECK(tree != nullptr);
  if (time != tree->time) {
    remove_from(time < tree->time ? tree->older : tree->newer, time, bytes);
  } else if (tree->added > 1) {
    CHECK(bytes <= tree->bytes);
    tree->bytes -= bytes;
    --tree->added;
  } else {
    CHECK(bytes == tree->bytes);
    tree = join(std::move(tree->older), std::move(tree->newer));
  }
  if (tree) add_up(*tree);
}

AgeSums::Tree AgeSums::join(Tree older, Tree newer) {
  if (older == nullptr) return newer;
  if (newer == nullptr) return older;
  if (older->priority > newer->priority) {
    older->newer = join(std::move(older->newer), std::move(newer));
    add_up(*older);
    return older;
  }
  newer->older = join(std::move(older), std::move(newer->older));
  add_up(*newer);
  return newer;
}

void AgeSums::collect(const Tree& tree, std::vector<Entry>& entries) {
  if (tree == nullptr) return;
  collect(tree->older, entries);
  entries.push_back({tree->time, tree->bytes});
  collect(tree->newer, entries);
}

std::vector<AgeSums::Entry> AgeSums::entries() const {
  std::vector<Entry> all;
  collect(root_, all);
  return all;
}

void AgeSums::check_node(const Node& node, std::vector<std::string>& violations) {
  for (const Tree* child : {&node.older, &node.newer}) {
    if (*child == nullptr) continue;
    if ((*child)->priority > node.priority)
      violations.emplace_back("AGES-2: a child lies too deep");
    check_node(**child, violations);
  }
  const bool adds_up = node.sum == node.bytes + sum_of(node.older) + sum_of(node.newer);
  if (!adds_up || node.added == 0) violations.emplace_back("AGES-3: the sum of a node");
}

std::vector<std::string> AgeSums::check() const {
  std::vector<std::string> violations;
  if (root_) check_node(*root_, violations);
  const std::vector<Entry> all = entries();
  const auto falls = [](const Entry& a, const Entry& b) { return a.time >= b.time; };
  if (std::ranges::adjacent_find(all, falls) != all.end()) {
    violations.emplace_back("AGES-1: times do not ascend");
  }
  return violations;
}

}  // namespace holdfast::tier
