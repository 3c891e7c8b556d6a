// States that come back.
#include <utility>
#include <vector>

#include "engine/conformance_checks.h"

namespace holdfast::engine {

namespace {

bool has(const Engine& engine, PartKind part) { return engine.shape().find(part) != nullptr; }

bool has_snapshot(const Engine& engine) {
  return has(engine, PartKind::kSnapshot) || has(engine, PartKind::kWindow);
}

// The slot now holds the stream up to `at`; its next row has to be the plain one.
Outcome next_row_is_plain(CheckParts parts, SlotId slot, TokenPos at) {
  auto& [probe, plain, book] = parts;
  const auto row = probe.decode_one(slot, probe.tokens(at, at + 1));
  if (!row) return probe.failed();
  probe.engine().clear(slot);
  Outcome outcome = plain.restored_outcome();
  outcome.compare(*row, plain.row_after(at), "the token after it");
  return outcome;
}

SavedStateView snapshot_view(TokenPos length, const ArrivingBytes& from,
                             std::span<const std::byte> bytes) {
  return {SaveScope::kSnapshot, length, from.checksum(), bytes};
}

RowsView rows_view(TokenRange block, const ArrivingBytes& from) {
  RowsView view;
  view.begin = view.block_begin = block.begin;
  view.end = view.block_end = block.end;
  view.checksum = from.checksum();
  view.bytes = from.bytes();
  return view;
}

// As a cache does it: copied while the engine goes on, brought back later.
Outcome restore_from_parts(CheckParts parts, SlotId slot) {
  auto& [probe, plain, book] = parts;
  Engine& engine = probe.engine();
  const SlotId source{0};
  const TokenPos length = kHistory + 1;
  if (!probe.done(engine.load(source, plain.state(1)))) return probe.failed();
  std::vector<TokenRange> blocks;
  if (has(engine, PartKind::kExtent)) blocks = {{0, 2}, {2, length}};
  auto saved = engine.save_later(source, blocks, has_snapshot(engine));
  if (!probe.done(saved)) return probe.failed();
  engine.clear(source);
  std::vector<RowsView> views;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    views.push_back(rows_view(blocks[i], *saved->rows[i]));
  }
  RestorePoint point;
  point.tokens = probe.tokens(0, length);
  point.rows = views;
  StateBytes elsewhere;  // so that a card which still holds the snapshot does not know it again
  if (saved->snapshot != nullptr) {
    const auto bytes = saved->snapshot->bytes();
    elsewhere.assign(bytes.begin(), bytes.end());
    point.snapshot = snapshot_view(length, *saved->snapshot, elsewhere);
  }
  const bool restored = probe.done(engine.restore(slot, point));
  return restored ? next_row_is_plain(parts, slot, length) : probe.failed();
}

// From the longest state to a shorter one, over the rows that are there.
Outcome restore_in_place(CheckParts parts, SlotId slot) {
  auto& [probe, plain, book] = parts;
  Engine& engine = probe.engine();
  const TokenPos length = kHistory + 1;
  ArrivingBytesPtr snapshot;
  if (has_snapshot(engine)) {
    if (!probe.done(engine.load(slot, plain.state(1)))) return probe.failed();
    auto saved = engine.save_later(slot, {}, /*snapshot=*/true);
    if (!probe.done(saved)) return probe.failed();
    snapshot = std::move(saved->snapshot);
  }
  if (!probe.done(engine.load(slot, plain.state(kLengths - 1)))) return probe.failed();
  if (snapshot != nullptr) {
    const auto view = snapshot_view(length, *snapshot, snapshot->bytes());
    if (!probe.done(engine.load(slot, view))) return probe.failed();
  } else if (engine.truncate(slot, length) == TruncateAnswer::kRefused) {
    probe.note_error("the engine refused to truncate its rows");
    return probe.failed();
  }
  return next_row_is_plain(parts, slot, length);
}

}  // namespace

void add_restored_kinds(CheckParts parts) {
  const SlotId slot{parts.probe.engine().slot_count() - 1};
  parts.book.add("a state restored whole", Formed::kAlways, 1.0, [&] {
    if (!parts.plain.bring(slot)) return parts.probe.failed();
    return next_row_is_plain(parts, slot, PlainWay::length_in(slot.value));
  });
  parts.book.add("a state restored from its parts", Formed::kAlways, 1.0,
                 [&] { return restore_from_parts(parts, slot); });
  parts.book.add("a slot taken back to a state that it had", Formed::kAlways, 1.0,
                 [&] { return restore_in_place(parts, slot); });
}

}  // namespace holdfast::engine
