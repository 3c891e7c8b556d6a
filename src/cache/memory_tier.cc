#include "cache/memory_tier.h"

#include <utility>

#include "base/check.h"

namespace holdfast::cache {

namespace {

bool has_snapshot_at_end(const tree::Match& match) {
  return !match.stops.empty() && match.stops.back().position == match.length &&
         match.stops.back().has_snapshot;
}

// What of a state is missing in memory.
struct MissingParts {
  std::vector<TokenRange> rows;
  bool snapshot = false;
  bool alone = false;   // the snapshot, without rows
  ByteCount bytes = 0;  // at most
  tree::NodeId growing;
};

MissingParts missing_of(const StoreRequest& request, const MemoryTier& memory) {
  const tree::TokenTree& tree = memory.tree();
  const TokenPos length = length_of(request.tokens);
  const tree::Match match = tree.match(request.space, request.tokens);
  MissingParts missing;
  if (!match.stops.empty()) missing.growing = match.stops.back().node;
  const bool needs_snapshot = tree.needs().snapshot && !request.rows_only;
  missing.alone = request.rows_stay && needs_snapshot && !memory.could_hold(length);
  if (tree.needs().blocks && !missing.alone) {
    if (match.node) missing.rows = tree.path(match.node).gaps(match.matched);
    if (match.matched < length) missing.rows.push_back({match.matched, length});
  }
  missing.snapshot = needs_snapshot && !has_snapshot_at_end(match);
  for (const TokenRange& range : missing.rows) {
    missing.bytes += static_cast<ByteCount>(range.length()) * memory.copier.bytes_per_token();
  }
  if (missing.snapshot) missing.bytes += memory.copier.snapshot_bytes(length);
  return missing;
}

Newcomer newcomer_of(const StoreRequest& request, const MissingParts& missing) {
  return {.bytes = missing.bytes,
          .growing = missing.growing,
          .odds = request.odds,
          .saves = request.saves,
          .essential = request.essential,
          .unknown = request.newcomer,
          .now = request.now};
}

CopyOrder order_of(const StoreRequest& request, const MissingParts& missing) {
  return {.slot = request.slot,
          .length = length_of(request.tokens),
          .rows = missing.rows,
          .snapshot = missing.snapshot,
          .taken = request.snapshot};
}

// Neighbouring uses of one block count once.
ByteCount bytes_of(const AdmitRequest& request) {
  ByteCount bytes = request.snapshot != nullptr ? request.snapshot->size() : 0;
  const ExtentBlock* last = nullptr;
  for (const BlockUse& use : request.rows) {
    if (use.block.get() != std::exchange(last, use.block.get())) bytes += use.block->size();
  }
  return bytes;
}

}  // namespace

MemoryTier::MemoryTier(engine::Engine& engine, const MemoryOptions& options,
                       engine::Companion* companion, CacheJournal* journal)
    : tree_(tree::StateNeeds::of(engine.shape())),
      copier(engine, companion),
      budget(tree_, options.budget),
      room(tree_, budget, options),
      held(tree_, copier),
      quarantine(tree_, room, journal) {}

// --- into memory ---------------------------------------------------------------

StoreOutcome MemoryTier::store(const StoreRequest& request) {
  CHECK(!request.tokens.empty());
  CHECK(length_of(request.tokens) <= copier.slot_length(request.slot));
  MissingParts missing = missing_of(request, *this);
  // Making room may take rows off this very path, which then are missing too.
  for (int attempt = 0; missing.bytes > budget.free(); ++attempt) {
    if (attempt == 3 || !room.make_room(newcomer_of(request, missing))) return decline();
    missing = missing_of(request, *this);
  }

  auto copied = copier.copy(order_of(request, missing));
  if (!copied) return decline();
  if (copied->bytes > budget.free()) return decline();  // a snapshot larger than any before
  std::vector<tree::PlacedHints> marks;
  if (!request.rows_only) marks.push_back({length_of(request.tokens), request.marks});
  const tree::Committed committed = tree_.commit({.space = request.space,
                                                  .tokens = request.tokens,
                                                  .blocks = copied->rows,
                                                  .snapshots = copied->snapshots,
                                                  .marks = marks,
                                                  .now = request.now});
  room.forget_beyond_limits();
  stored_bytes_ += committed.new_bytes;
  budget.note_added();
  SnapshotPtr snapshot = tree_.snapshot(committed.node);
  if (missing.alone) return {.bytes = committed.new_bytes, .snapshot = std::move(snapshot)};
  return {true, committed.new_bytes, {committed.node, length_of(request.tokens)}, snapshot};
}

bool MemoryTier::admit(const AdmitRequest& request) {
  if (bytes_of(request) > budget.free()) return false;
  const std::vector<tree::PlacedHints> marks = {
      {length_of(request.tokens), request.marks.without(kDerivedHints)}};
  const std::size_t count = request.snapshot != nullptr ? 1 : 0;
  tree_.commit({.space = request.space,
                .tokens = request.tokens,
                .snapshots = {&request.snapshot, count},
                .marks = marks,
                .now = request.now,
                .uses = request.rows});
  room.forget_beyond_limits();
  budget.note_added();
  return true;
}

StoreOutcome MemoryTier::decline() {
  ++declined_;
  room.forget_beyond_limits();
  return {};
}

tree::Filed MemoryTier::remember(SpaceKey space, TokenSpan tokens, tree::Tick now) {
  if (tokens.empty()) return {};
  const tree::Committed committed = tree_.commit({.space = space, .tokens = tokens, .now = now});
  room.forget_beyond_limits();
  return {committed.node, length_of(tokens)};
}

void MemoryTier::note_tool_call(SpaceKey space, TokenSpan tokens) {
  const tree::Match match = tree_.match(space, tokens);
  for (auto stop = match.stops.rbegin(); stop != match.stops.rend(); ++stop) {
    if (!stop->marks.has(Hint::kPromptEnd)) continue;
    tree_.mark(stop->node, Hint::kToolCall);
    return;
  }
}

// --- and back ------------------------------------------------------------------

Result<ByteCount> MemoryTier::restore(SlotId slot, tree::NodeId node, TokenSpan tokens,
                                      tree::Tick now) {
  auto bytes = copier.restore(slot, tokens, held.parts_at(node, length_of(tokens)));
  if (bytes) tree_.record_hit(node, now);
  return bytes;
}

Result<ByteCount> MemoryTier::load_snapshot(SlotId slot, tree::NodeId node, tree::Tick now) {
  const SnapshotPtr snapshot = tree_.snapshot(node);
  CHECK(snapshot != nullptr);
  auto bytes = copier.load_snapshot(slot, *snapshot);
  if (bytes) tree_.record_hit(node, now);
  return bytes;
}

// --- looking in ----------------------------------------------------------------

void MemoryTier::report(CacheStatus& status) const {
  status.enabled = enabled();
  status.budget = budget.total();
  status.resident = tree_.bytes().resident;
  status.extents = tree_.bytes(tree::ByteKind::kBlocks).resident;
  status.snapshots = tree_.bytes(tree::ByteKind::kSnapshots).resident;
  status.pinned = tree_.bytes().pinned;
  status.peak = budget.peak();
  status.snapshot_count = tree_.counts().snapshots;
  status.nodes = tree_.counts().nodes;
  status.tokens = tree_.counts().tokens;
  status.ghost_tokens = tree_.counts().ghost_tokens;
  status.declined = declined_;
  status.evicted_snapshots = room.evicted().snapshots;
  status.evicted_rows = room.evicted().rows;
  status.evicted_bytes = room.evicted().bytes;
  status.stored_bytes = stored_bytes_;
  status.quarantined = quarantine.count();
}

std::vector<std::string> MemoryTier::check() const {
  std::vector<std::string> violations = tree_.check();
  for (const auto& more : {budget.check(), room.check()}) {
    violations.insert(violations.end(), more.begin(), more.end());
  }
  if (tree_.counts().pins != 0) violations.emplace_back("MEM-2: something is still pinned");
  return violations;
}

}  // namespace holdfast::cache
