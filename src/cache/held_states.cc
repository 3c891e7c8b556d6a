#include "cache/held_states.h"

#include "base/check.h"

namespace holdfast::cache {

namespace {

// The snapshot at the end of what was matched, if it is that of the whole sequence.
SnapshotPtr snapshot_at_end(const tree::TokenTree& tree, const tree::Match& match) {
  const bool stands_here = !match.stops.empty() && match.stops.back().position == match.length;
  return stands_here ? tree.snapshot(match.stops.back().node) : nullptr;
}

}  // namespace

std::optional<HeldParts> HeldStates::parts_of(SpaceKey space, TokenSpan tokens) const {
  const tree::Match match = tree_.match(space, tokens);
  const TokenPos length = length_of(tokens);
  if (!match.node || match.matched < length) return std::nullopt;
  HeldParts parts;
  if (tree_.needs().blocks) {
    if (match.covered < length) return std::nullopt;
    parts.rows = tree_.path(match.node).rows(length);
  }
  if (tree_.needs().snapshot) {
    parts.snapshot = snapshot_at_end(tree_, match);
    if (parts.snapshot == nullptr) return std::nullopt;
  }
  return parts;
}

HeldParts HeldStates::parts_at(tree::NodeId node, TokenPos length) const {
  HeldParts parts;
  if (tree_.needs().blocks) parts.rows = tree_.path(node).rows(length);
  if (tree_.needs().snapshot) parts.snapshot = tree_.snapshot(node);
  return parts;
}

// A part that the companion could add to is better copied again.
HeldParts HeldStates::shared_with(const tree::Match& match, bool slot_stands_here) const {
  HeldParts parts;
  if (tree_.needs().blocks && match.covered > 0) {
    for (BlockUse& use : tree_.path(match.node).rows(match.covered)) {
      if (copier_.lacks_companion(*use.block)) break;
      parts.rows.push_back(std::move(use));
    }
  }
  if (tree_.needs().snapshot) parts.snapshot = snapshot_at_end(tree_, match);
  const bool bare = parts.snapshot != nullptr && copier_.lacks_companion(*parts.snapshot);
  if (bare && slot_stands_here) parts.snapshot = nullptr;
  return parts;
}

std::optional<HeldParts> HeldStates::collect(SlotId slot, SpaceKey space, TokenSpan tokens) {
  const TokenPos length = length_of(tokens);
  CHECK(0 < length && length <= copier_.slot_length(slot));
  HeldParts parts = shared_with(tree_.match(space, tokens), copier_.slot_length(slot) == length);
  CopyOrder order;
  order.slot = slot;
  order.length = length;
  const TokenPos covered = parts.rows.empty() ? 0 : parts.rows.back().range.end;
  if (tree_.needs().blocks && covered < length) order.rows.push_back({covered, length});
  order.snapshot = tree_.needs().snapshot && parts.snapshot == nullptr;
  auto copied = copier_.copy(order);
  if (!copied) return std::nullopt;
  for (ExtentBlockPtr& block : copied->rows) {
    const TokenRange range = block->range();
    parts.rows.push_back({std::move(block), range});
  }
  if (order.snapshot) parts.snapshot = std::move(copied->snapshots.front());
  return parts;
}

CompanionHolding HeldStates::companion_state(SpaceKey space, TokenSpan tokens) const {
  if (!copier_.has_companion()) return {};
  const tree::Match match = tree_.match(space, tokens);
  if (!match.node) return {};
  HeldParts parts;
  if (copier_.has_companion_rows()) parts.rows = tree_.path(match.node).rows(match.matched);
  parts.snapshot = snapshot_at_end(tree_, match);
  return copier_.companion_parts(parts);
}

}  // namespace holdfast::cache
