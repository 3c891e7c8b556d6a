#include "policy/path_trie.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::policy {

PathTrie::PathTrie(const Workload& workload) : workload_(workload) {
  nodes_.emplace_back();
  source_.push_back(0);
  for (std::uint32_t i = 0; i < workload.requests.size(); ++i) insert(i);
}

void PathTrie::insert(std::uint32_t index) {
  const Request& request = workload_.requests[index];
  TrieNode at = 0;
  TokenPos matched = 0;
  while (matched < request.total()) {
    const auto child = children_.find(branch(at, workload_.token_at(request, matched)));
    if (child == children_.end()) break;
    const TrieNode next = child->second;
    const Request& other = workload_.requests[source_[next]];
    matched = workload_.common(request, other, matched, nodes_[next].end);
    at = matched == nodes_[next].end ? next : split(next, matched);
    if (nodes_[at].end == matched && at != next) break;
  }
  reusable_.push_back(std::min(matched, request.input - 1));
  if (matched < request.total()) {
    const auto node = static_cast<TrieNode>(nodes_.size());
    nodes_.push_back({at, matched, request.total(), kNobody});
    source_.push_back(index);
    children_[branch(at, workload_.token_at(request, matched))] = node;
    at = node;
  }
  ends_.push_back(at);
  TrieNode prompt_end = holder(at, request.input);
  if (nodes_[prompt_end].end != request.input) prompt_end = split(prompt_end, request.input);
  std::uint32_t& first = nodes_[prompt_end].prompt_end_of;
  if (first == kNobody) first = index;
}

// The lower part keeps its number, so that what is known of its end stays true.
TrieNode PathTrie::split(TrieNode node, TokenPos position) {
  CHECK(nodes_[node].begin < position && position < nodes_[node].end);
  const auto upper = static_cast<TrieNode>(nodes_.size());
  nodes_.push_back({nodes_[node].parent, nodes_[node].begin, position, kNobody});
  source_.push_back(source_[node]);
  const Request& source = workload_.requests[source_[node]];
  children_[branch(nodes_[upper].parent, workload_.token_at(source, nodes_[upper].begin))] = upper;
  nodes_[node].parent = upper;
  nodes_[node].begin = position;
  children_[branch(upper, workload_.token_at(source, position))] = node;
  return upper;
}

void Path::follow(std::size_t request) {
  ++stamp_;
  steps_.clear();
  for (TrieNode at = trie_.end_of(request); at != 0; at = trie_.node(at).parent) {
    steps_.push_back({at, trie_.node(at).end});
    stamps_[at] = stamp_;
  }
  stamps_[0] = stamp_;
  std::ranges::reverse(steps_);
}

Prefix Path::prefix(TokenPos position) const {
  if (position <= 0) return {};
  const auto step = std::ranges::lower_bound(steps_, position, {}, &Step::end);
  CHECK(step != steps_.end());
  return {step->node, position};
}

TokenPos Path::common(Prefix known) const {
  if (contains(known.node)) return known.position;
  TrieNode at = known.node;
  while (!contains(at)) at = trie_.node(at).parent;
  return trie_.node(at).end;
}

}  // namespace holdfast::policy
