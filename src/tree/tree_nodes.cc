#include "tree/tree_nodes.h"

#include <utility>

#include "base/check.h"

namespace holdfast::tree {

Node& TreeNodes::at(NodeId id) const {
  Node* node = find(id);
  CHECK(node != nullptr);
  return *node;
}

Node* TreeNodes::find_root(SpaceKey space) const {
  const auto it = roots_.find(space);
  return it == roots_.end() ? nullptr : it->second;
}

std::vector<const Node*> TreeNodes::roots() const {
  std::vector<const Node*> roots;
  for (const auto& [space, root] : roots_) roots.push_back(root);
  return roots;
}

Node& TreeNodes::make_root(SpaceKey space) {
  Node*& root = roots_[space];
  if (!root) {
    root = &pool_.make();
    root->space = space;
  }
  return *root;
}

Node& TreeNodes::grow(Node& parent, TokenSpan edge) {
  CHECK(!edge.empty());
  Node& leaf = pool_.make();
  leaf.space = parent.space;
  leaf.parent = &parent;
  leaf.tokens = EdgeTokens::below(parent.tokens, edge, stretches_);
  leaf.end = parent.end + length_of(edge);
  token_count_ += edge.size();
  parent.children.add(edge.front(), &leaf);
  return leaf;
}

Node& TreeNodes::split(Node& node, TokenPos position) {
  CHECK(node.begin() < position && position < node.end);
  Node& upper = pool_.make();
  upper.tokens = node.tokens.take_head(static_cast<std::size_t>(position - node.begin()));
  upper.end = position;
  upper.space = node.space;
  upper.parent = std::exchange(node.parent, &upper);
  upper.parent->children.replace(upper.tokens.front(), &upper);
  upper.children.add(node.tokens.front(), &node);
  return upper;
}

void TreeNodes::join(Node& upper, Node& child) {
  upper.tokens.append(std::move(child.tokens));
  child.tokens = std::move(upper.tokens);
  child.parent = upper.parent;
  child.parent->children.replace(child.tokens.front(), &child);
}

void TreeNodes::unlink(Node& leaf) {
  CHECK(!leaf.is_root() && leaf.children.empty());
  leaf.parent->children.remove(leaf.tokens.front());
  token_count_ -= leaf.tokens.size();
}

void TreeNodes::destroy(Node& node) {
  if (node.is_root()) {
    CHECK(node.children.empty());
    roots_.erase(node.space);
  }
  pool_.destroy(node);
}

}  // namespace holdfast::tree
