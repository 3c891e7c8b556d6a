#include "policy/radix.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::policy {

RadixId Radix::child(RadixId parent, const Path& path, TokenPos at) const {
  const auto found = children_.find(branch(parent, path.prefix(at + 1).node));
  return found == children_.end() ? kNoRadixNode : found->second;
}

RadixMatch Radix::match(const Path& path, TokenPos limit) const {
  RadixMatch match;
  for (RadixId at = kRadixRoot; match.matched < limit;) {
    const RadixId next = child(at, path, match.matched);
    if (next == kNoRadixNode) break;
    match.matched = std::min(path.common(nodes_[next].end), limit);
    if (match.matched < nodes_[next].end.position) {
      match.partial = next;
      break;
    }
    match.nodes.push_back(next);
    at = next;
  }
  return match;
}

RadixId Radix::insert(const Path& path, TokenPos length, TokenPos& added) {
  const RadixMatch known = match(path, length);
  RadixId at = known.nodes.empty() ? kRadixRoot : known.nodes.back();
  if (known.partial != kNoRadixNode) at = split(known.partial, known.matched);
  added = length - known.matched;
  return added == 0 ? at : make(at, known.matched, path.prefix(length));
}

RadixId Radix::make(RadixId parent, TokenPos begin, Prefix end) {
  RadixId id = static_cast<RadixId>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  nodes_[id] = {.parent = parent, .end = end, .begin = begin, .alive = true};
  row_tokens_ += static_cast<ByteCount>(end.position - begin);
  ++nodes_[parent].children;
  children_[branch_of(id)] = id;
  return id;
}

RadixId Radix::split(RadixId lower, TokenPos position) {
  CHECK(nodes_[lower].begin < position && position < nodes_[lower].end.position);
  const RadixId parent = nodes_[lower].parent;
  const Prefix middle{trie_.holder(nodes_[lower].end.node, position), position};
  row_tokens_ -= static_cast<ByteCount>(position - nodes_[lower].begin);
  --nodes_[parent].children;
  const RadixId upper = make(parent, nodes_[lower].begin, middle);
  nodes_[upper].used = nodes_[lower].used;
  nodes_[upper].used_s = nodes_[lower].used_s;
  nodes_[lower].parent = upper;
  nodes_[lower].begin = position;
  ++nodes_[upper].children;
  children_[branch_of(lower)] = lower;
  return upper;
}

bool Radix::add_state(RadixId node) {
  if (nodes_[node].state || !shape_.has_state()) return false;
  nodes_[node].state = true;
  ++states_;
  return true;
}

void Radix::drop_state(RadixId node) {
  if (!nodes_[node].state) return;
  nodes_[node].state = false;
  --states_;
}

void Radix::drop_leaf(RadixId node) {
  CHECK(nodes_[node].alive && nodes_[node].children == 0 && node != kRadixRoot);
  drop_state(node);
  children_.erase(branch_of(node));
  row_tokens_ -= static_cast<ByteCount>(nodes_[node].length());
  --nodes_[nodes_[node].parent].children;
  nodes_[node].alive = false;
  free_.push_back(node);
}

RadixId deepest_state(const Radix& tree, const RadixMatch& match, TokenPos limit) {
  for (auto at = match.nodes.rbegin(); at != match.nodes.rend(); ++at) {
    if (tree.node(*at).state && tree.node(*at).end.position <= limit) return *at;
  }
  return kNoRadixNode;
}

}  // namespace holdfast::policy
