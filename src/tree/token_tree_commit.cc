// How what a request computed joins the tree, and how its use is noted.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "tree/token_tree.h"
#include "tree/tree_core.h"
#include "tree/walk.h"

namespace holdfast::tree {

namespace {

void verify(const Commit& commit) {
  const TokenPos length = length_of(commit.tokens);
  CHECK(length > 0);
  TokenPos reached = 0;
  for (const ExtentBlockPtr& block : commit.blocks) {
    CHECK(reached <= block->range().begin && block->range().end <= length);
    reached = block->range().end;
  }
  reached = 0;
  for (const BlockUse& use : commit.uses) {
    const TokenRange block = use.block->range();
    CHECK(block.begin <= use.range.begin && use.range.end <= block.end);
    CHECK(reached <= use.range.begin && use.range.end <= length);
    reached = use.range.end;
  }
  for (const SnapshotPtr& snapshot : commit.snapshots) {
    CHECK(snapshot->position() <= length);
  }
  for (const PlacedHints& mark : commit.marks) {
    CHECK(0 < mark.position && mark.position <= length);
  }
}

// Something that a commit puts at one position.
struct Addition {
  TokenPos position = 0;
  SnapshotPtr snapshot;  // or
  Hints marks;
};

// Deepest first.
std::vector<Addition> additions_of(const Commit& commit) {
  std::vector<Addition> all;
  for (const SnapshotPtr& snapshot : commit.snapshots) {
    all.push_back({snapshot->position(), snapshot, {}});
  }
  for (const PlacedHints& mark : commit.marks) {
    if (!mark.hints.none()) all.push_back({mark.position, nullptr, mark.hints});
  }
  std::ranges::stable_sort(all, std::greater{}, &Addition::position);
  return all;
}

// The node on the path to `node` whose edge holds the token before `position`.
Node& node_of(Node& node, TokenPos position) {
  Node* at = &node;
  while (position <= at->begin()) at = at->parent;
  CHECK(!at->is_root() && position <= at->end);
  return *at;
}

// The node at exactly that position, made by a split if need be.
Node& node_at(TreeCore& core, Node& node, TokenPos position) {
  Node& at = node_of(node, position);
  return position == at.end ? at : core.split(at, position);
}

// Brings the whole sequence into the tree; returns the node of its last token.
// New tokens become one edge between each two additions, so that none of them
// needs a split.
Node& lay_path(TreeCore& core, const Commit& commit, std::span<const Addition> additions,
               Committed& outcome) {
  Node* root = &core.nodes().make_root(commit.space);
  const auto known = walk(root, commit.tokens, [](const Node&) {});
  const TokenPos length = length_of(commit.tokens);
  outcome.new_tokens = length - known.position;
  if (outcome.new_tokens == 0) return *known.node;

  Node* at = known.at_end() ? known.node : &core.split(*known.node, known.position);
  if (!at->is_root() && at->children.size() == 1) outcome.junction = at->id;
  const auto grow_to = [&](TokenPos end) {
    if (end > at->end) at = &core.grow(*at, commit.tokens.subspan(at->end, end - at->end));
  };
  for (auto next = additions.rbegin(); next != additions.rend(); ++next) grow_to(next->position);
  grow_to(length);
  return *at;
}

void mark_node(Node& node, Hints hints) {
  CHECK((hints & kDerivedHints).none());
  node.marks = node.marks | hints;
}

// One walk upwards along the path, whatever the number of additions.
void add_all(TreeCore& core, Node& last, std::span<const Addition> additions, Tick now) {
  Node* at = &last;
  for (const Addition& addition : additions) {
    at = &node_at(core, *at, addition.position);
    mark_node(*at, addition.marks);
    if (addition.snapshot && !at->state.snapshot) core.states().attach(*at, addition.snapshot, now);
  }
}

const ExtentBlockPtr& block_of(const ExtentBlockPtr& block) { return block; }
const ExtentBlockPtr& block_of(const BlockUse& use) { return use.block; }
TokenRange rows_of(const ExtentBlockPtr& block) { return block->range(); }
TokenRange rows_of(const BlockUse& use) { return use.range; }

// Rows and edges both ascend: each pair that meets is met once.
template <typename Rows>
void fill_rows(TreeCore& core, Node& last, std::span<const Rows> all) {
  if (all.empty()) return;
  const TokenPos first = rows_of(all.front()).begin;
  std::vector<Node*> path;
  for (Node* at = &last; !at->is_root() && at->end > first; at = at->parent) path.push_back(at);
  auto next = all.begin();
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    while (next != all.end() && rows_of(*next).end <= (*node)->begin()) ++next;
    for (auto it = next; it != all.end() && rows_of(*it).begin < (*node)->end; ++it) {
      core.states().fill(**node, block_of(*it), rows_of(*it));
    }
    core.states().settle(**node);
  }
}

}  // namespace

Committed TokenTree::commit(const Commit& commit) {
  verify(commit);
  const Tick now = core_->states().uses().advance(commit.now);
  const ByteCount before = bytes().resident;
  Committed outcome;
  const auto additions = additions_of(commit);
  Node& last = lay_path(*core_, commit, additions, outcome);
  add_all(*core_, last, additions, now);
  fill_rows(*core_, last, commit.blocks);
  fill_rows(*core_, last, commit.uses);

  Node& node = node_of(core_->tidy(last), length_of(commit.tokens));
  core_->states().touch_path(node, now);
  outcome.node = node.id;
  outcome.new_bytes = bytes().resident - before;
  return outcome;
}

void TokenTree::mark(NodeId node, Hints hints) { mark_node(core_->nodes().at(node), hints); }

void TokenTree::record_hit(NodeId id, Tick now) {
  Node& node = core_->nodes().at(id);
  TreeStates& states = core_->states();
  const Tick when = states.uses().advance(now);
  ++node.hits;
  states.uses().touch_snapshot(node, when);
  states.touch_path(node, when);
}

}  // namespace holdfast::tree
