#include "cache/slot_copier.h"

#include <algorithm>
#include <new>

#include "base/check.h"

namespace holdfast::cache {

namespace {

ByteCount extent_bytes(const StateShape& shape) {
  const Part* extent = shape.find(PartKind::kExtent);
  return extent != nullptr ? extent->bytes_per_token : 0;
}

// Rows are kept in blocks that never cross a multiple of kBlockTokens.
void append_blocks(TokenRange range, std::vector<TokenRange>& blocks) {
  for (TokenPos at = range.begin; at < range.end;) {
    const TokenPos boundary = (at / kBlockTokens + 1) * kBlockTokens;
    blocks.push_back({at, std::min(boundary, range.end)});
    at = blocks.back().end;
  }
}

std::vector<TokenRange> blocks_of(const std::vector<TokenRange>& ranges) {
  std::vector<TokenRange> blocks;
  for (const TokenRange& range : ranges) append_blocks(range, blocks);
  return blocks;
}

engine::RowsView view_of(const BlockUse& use) {
  engine::RowsView view;
  view.begin = use.range.begin;
  view.end = use.range.end;
  view.block_begin = use.block->range().begin;
  view.block_end = use.block->range().end;
  view.checksum = use.block->checksum();
  view.bytes = use.block->bytes();
  return view;
}

engine::SavedStateView view_of(const Snapshot& snapshot) {
  return {engine::SaveScope::kSnapshot, snapshot.position(), snapshot.checksum(), snapshot.bytes()};
}

}  // namespace

SlotCopier::SlotCopier(engine::Engine& engine, engine::Companion* companion)
    : engine_(engine),
      companion_(companion),
      needs_(tree::StateNeeds::of(engine.shape())),
      row_bytes_(extent_bytes(engine.shape())),
      companion_shape_(companion != nullptr ? companion->shape() : engine::CompanionShape{}) {}

// --- sizes -------------------------------------------------------------------------

// Companion rows lie in the primary's blocks; where those have none, nor has it.
ByteCount SlotCopier::companion_row_bytes() const {
  return needs_.blocks ? companion_shape_.bytes_per_token : 0;
}

ByteCount SlotCopier::snapshot_bytes(TokenPos position) const {
  if (!needs_.snapshot) return 0;
  const StateShape& shape = engine_.shape();
  ByteCount bytes = shape.bytes_per_snapshot();
  if (const Part* window = shape.find(PartKind::kWindow)) {
    bytes += window->bytes_per_token * static_cast<ByteCount>(std::min(position, window->window));
  }
  return std::max(bytes + companion_shape_.bytes_per_place, snapshot_bytes_seen_);
}

// --- out of a slot -----------------------------------------------------------------

// Out of memory is out of room.
std::optional<CopiedState> SlotCopier::copy(const CopyOrder& order) {
  try {
    CopiedState copied;
    const std::vector<TokenRange> blocks = blocks_of(order.rows);
    engine::CompanionSaved companion = copy_companion(order, blocks);
    const bool takes_snapshot = order.snapshot && order.taken == nullptr;
    auto saved = engine_.save_later(order.slot, blocks, takes_snapshot);
    if (!saved) return std::nullopt;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      copied.rows.push_back(std::make_shared<const ExtentBlock>(
          blocks[i], std::move(saved->rows[i]), std::move(companion.rows[i])));
    }
    if (takes_snapshot) {
      copied.snapshots.push_back(
          made_of(std::move(saved->snapshot), order.length, std::move(companion.place)));
    } else if (order.snapshot) {
      copied.snapshots.push_back(order.taken);
    }
    for (const auto& block : copied.rows) copied.bytes += block->size();
    for (const auto& snapshot : copied.snapshots) copied.bytes += snapshot->size();
    return copied;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

SnapshotPtr SlotCopier::take_snapshot(SlotId slot, TokenPos length) {
  CopyOrder order;
  order.slot = slot;
  order.length = length;
  order.snapshot = needs_.snapshot;
  auto copied = copy(order);
  return copied && !copied->snapshots.empty() ? copied->snapshots.front() : nullptr;
}

// A companion that answers with something else than was asked for has nothing to keep.
engine::CompanionSaved SlotCopier::copy_companion(const CopyOrder& order,
                                                  const std::vector<TokenRange>& blocks) const {
  const bool takes_snapshot = order.snapshot && order.taken == nullptr;
  engine::CompanionSaved saved;
  if (companion_ != nullptr && (!blocks.empty() || takes_snapshot)) {
    saved = companion_->save(order.slot, blocks, order.length);
  }
  saved.rows.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto most = companion_shape_.bytes_per_token * static_cast<ByteCount>(blocks[i].length());
    if (saved.rows[i].bytes.size() > most) saved.rows[i] = {};
  }
  if (saved.place.bytes.size() > companion_shape_.bytes_per_place) saved.place = {};
  return saved;
}

SnapshotPtr SlotCopier::made_of(ArrivingBytesPtr state, TokenPos position, CheckedBytes companion) {
  snapshot_bytes_seen_ =
      std::max(snapshot_bytes_seen_, ByteCount{state->size()} + companion_shape_.bytes_per_place);
  return std::make_shared<const Snapshot>(position, std::move(state), std::move(companion));
}

// --- and back ----------------------------------------------------------------------

Result<ByteCount> restore_parts(engine::Engine& engine, SlotId slot, TokenSpan tokens,
                                const HeldParts& parts) {
  const ByteCount row_bytes = extent_bytes(engine.shape());
  ByteCount bytes = 0;
  std::vector<engine::RowsView> views;
  views.reserve(parts.rows.size());
  for (const BlockUse& use : parts.rows) {
    views.push_back(view_of(use));
    bytes += static_cast<ByteCount>(use.range.length()) * row_bytes;
  }
  engine::RestorePoint point;
  point.tokens = tokens;
  point.rows = views;
  if (parts.snapshot != nullptr) {
    point.snapshot = view_of(*parts.snapshot);
    bytes += parts.snapshot->size();
  }
  if (auto restored = engine.restore(slot, point); !restored) {
    engine.clear(slot);
    return restored.error();
  }
  return bytes;
}

Result<ByteCount> SlotCopier::load_snapshot(SlotId slot, const Snapshot& snapshot) {
  if (auto loaded = engine_.load(slot, view_of(snapshot)); !loaded) {
    engine_.clear(slot);
    return loaded.error();
  }
  return snapshot.size();
}

// --- the companion -----------------------------------------------------------------

bool SlotCopier::has_companion() const {
  return companion_shape_.bytes_per_token + companion_shape_.bytes_per_place > 0;
}

bool SlotCopier::lacks_companion(const ExtentBlock& block) const {
  return has_companion_rows() && block.companion().empty();
}

bool SlotCopier::lacks_companion(const Snapshot& snapshot) const {
  return companion_shape_.bytes_per_place > 0 && snapshot.companion().empty();
}

CompanionHolding SlotCopier::companion_parts(const HeldParts& parts) const {
  CompanionHolding holding;
  holding.snapshot = parts.snapshot;
  if (holding.snapshot != nullptr) holding.place = holding.snapshot->companion();
  if (!has_companion_rows()) return holding;
  holding.blocks = parts.rows;
  for (const BlockUse& use : holding.blocks) {
    engine::RowsView view = view_of(use);
    view.checksum = use.block->companion().checksum;
    view.bytes = use.block->companion().bytes;
    if (!view.bytes.empty()) holding.rows.push_back(view);
  }
  return holding;
}

}  // namespace holdfast::cache
