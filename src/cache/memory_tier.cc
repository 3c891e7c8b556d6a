#include "cache/memory_tier.h"

#include <algorithm>
#include <new>

#include "base/check.h"
#include "base/hash.h"

namespace holdfast::cache {

namespace {

ByteCount extent_bytes(const StateShape& shape) {
  const Part* extent = shape.find(PartKind::kExtent);
  return extent != nullptr ? extent->bytes_per_token : 0;
}

// Rows are kept in blocks that never cross a multiple of kBlockTokens.
std::vector<TokenRange> block_ranges(TokenRange range) {
  std::vector<TokenRange> blocks;
  for (TokenPos at = range.begin; at < range.end;) {
    const TokenPos boundary = (at / kBlockTokens + 1) * kBlockTokens;
    blocks.push_back({at, std::min(boundary, range.end)});
    at = blocks.back().end;
  }
  return blocks;
}

std::vector<TokenRange> blocks_of(const std::vector<TokenRange>& ranges) {
  std::vector<TokenRange> blocks;
  for (const TokenRange& range : ranges) {
    const auto inside = block_ranges(range);
    blocks.insert(blocks.end(), inside.begin(), inside.end());
  }
  return blocks;
}

ByteCount bytes_of(const std::vector<TokenRange>& ranges, ByteCount row_bytes) {
  ByteCount bytes = 0;
  for (const TokenRange& range : ranges) {
    bytes += static_cast<ByteCount>(range.length()) * row_bytes;
  }
  return bytes;
}

// Looking for what may go takes milliseconds where much is held. So a little more goes than
// has to. (And what did not make way for a newcomer is not asked again for its like in the same
// request: values fall slowly.)
constexpr ByteCount kAheadShare = 128;
// Where conversations come by turns, one that is not here displaces nothing that is worth more than
// this part of it: all are alike, and each that makes way is read again.
constexpr double kForAnEqual = 0.5;

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

// A node costs far more than a token, and short prompts are mostly nodes.
void forget_beyond_limits(tree::TokenTree& tree, const MemoryOptions& limits) {
  tree.trim_ghost(limits.ghost_tokens_max);
  while (tree.node_count() > limits.nodes_max && tree.ghost_tokens() > 0) {
    tree.trim_ghost(tree.ghost_tokens() / 2);
  }
}

struct MemoryTier::Wanted {
  std::vector<TokenRange> rows;
  bool snapshot = false;
  bool alone = false;   // the snapshot, without rows
  ByteCount bytes = 0;  // at most
  tree::NodeId growing;
};

MemoryTier::MemoryTier(engine::Engine& engine, MemoryOptions options, engine::Companion* companion,
                       CacheJournal* journal)
    : engine_(engine),
      options_(options),
      row_bytes_(extent_bytes(engine.shape())),
      companion_(companion),
      companion_shape_(companion != nullptr ? companion->shape() : engine::CompanionShape{}),
      journal_(journal),
      tree_(tree::StateNeeds::of(engine.shape())) {}

// Companion rows lie in the primary's blocks; where those have none, nor has it.
ByteCount MemoryTier::companion_row_bytes() const {
  return tree_.needs().blocks ? companion_shape_.bytes_per_token : 0;
}

ByteCount MemoryTier::snapshot_bytes(TokenPos position) const {
  if (!tree_.needs().snapshot) return 0;
  const StateShape& shape = engine_.shape();
  ByteCount bytes = shape.bytes_per_snapshot();
  if (const Part* window = shape.find(PartKind::kWindow)) {
    bytes += window->bytes_per_token * static_cast<ByteCount>(std::min(position, window->window));
  }
  return std::max(bytes + companion_shape_.bytes_per_place, snapshot_bytes_seen_);
}

// --- into memory ---------------------------------------------------------------

MemoryTier::Wanted MemoryTier::missing_of(const StoreRequest& request) const {
  const TokenPos length = length_of(request.tokens);
  const tree::Match match = tree_.match(request.space, request.tokens);
  Wanted wanted;
  if (!match.stops.empty()) wanted.growing = match.stops.back().node;
  const bool needs_snapshot = tree_.needs().snapshot && !request.rows_only;
  wanted.alone = request.rows_stay && needs_snapshot && !could_hold(length);
  if (tree_.needs().blocks && !wanted.alone) {
    if (match.node) wanted.rows = tree_.gaps(match.node, match.matched);
    if (match.matched < length) wanted.rows.push_back({match.matched, length});
  }
  const bool there = !match.stops.empty() && match.stops.back().position == length &&
                     match.stops.back().has_snapshot;
  wanted.snapshot = needs_snapshot && !there;
  wanted.bytes = bytes_of(wanted.rows, bytes_per_token());
  if (wanted.snapshot) wanted.bytes += snapshot_bytes(length);
  return wanted;
}

// What a request shares with others, up to the last fork on its way, is not its own.
tree::Tick MemoryTier::begin_request(const tree::Match* match, tree::Tick now) {
  ++requests_;
  if (match == nullptr) return now;
  const TokenPos shared = match->forks.empty() ? 0 : match->forks.back();
  const tree::Tick last_use = match->node ? tree_.facts(match->node).last_use : 0;
  now = returns_.begin(now);
  returns_.note(match->length - shared, match->matched - shared, last_use);
  return now;
}

// How many tokens memory holds, if all weigh as much as those that are here.
const plan::ReturnAges* MemoryTier::loop() const {
  const std::uint64_t tokens = tree_.token_count() - tree_.ghost_tokens();
  const ByteCount resident = std::max<ByteCount>(tree_.bytes().resident, 1);
  const double capacity = static_cast<double>(tokens) * static_cast<double>(options_.budget) /
                          static_cast<double>(resident);
  return returns_.loops(capacity) ? &returns_ : nullptr;
}

bool MemoryTier::make_room(const StoreRequest& request, const Wanted& wanted) {
  if (wanted.bytes > options_.budget) return false;
  const ByteCount free = room();
  if (wanted.bytes <= free) return true;
  const ByteCount needed = wanted.bytes - free;
  if (tree_.bytes().evictable() < needed) return false;
  plan::RoomRequest room_request;
  const ByteCount ahead = request.essential ? options_.budget / kAheadShare : 0;
  room_request.needed = std::min(needed + ahead, tree_.bytes().evictable());
  room_request.now = request.now;
  room_request.loop = loop();
  const bool by_worth = !request.essential || (room_request.loop != nullptr && request.newcomer);
  if (by_worth) {
    const double wanted_soon =
        room_request.loop != nullptr
            ? kForAnEqual * request.odds.weight * room_request.loop->density(0)
            : request.odds.weight / request.odds.tau_s;
    room_request.worth = wanted_soon * static_cast<double>(std::max(request.saves, TokenPos{1})) /
                         static_cast<double>(wanted.bytes);
  }
  room_request.growing = {wanted.growing};
  const bool like_a_refused_one =
      by_worth && room_request.worth <= refused_worth_ && requests_ == refused_in_;
  if (like_a_refused_one) return false;
  for (const plan::Victim& victim : plan::evict_bytes(tree_, room_request, options_.eviction))
    count(victim);
  if (wanted.bytes <= room()) return true;
  if (by_worth) {
    refused_worth_ = room_request.worth;
    refused_in_ = requests_;
  }
  return false;
}

StoreOutcome MemoryTier::store(const StoreRequest& request) {
  CHECK(!request.tokens.empty());
  CHECK(length_of(request.tokens) <= engine_.length(request.slot));
  Wanted wanted = missing_of(request);
  // Making room may take rows off this very path, which then are wanted too.
  for (int attempt = 0; wanted.bytes > room(); ++attempt) {
    if (attempt == 3 || !make_room(request, wanted)) return decline();
    wanted = missing_of(request);
  }

  auto copied = copy(request, wanted);
  if (!copied) return decline();
  if (copied->bytes > room()) return decline();  // a snapshot larger than any before
  std::vector<tree::PlacedHints> marks;
  if (!request.rows_only) marks.push_back({length_of(request.tokens), request.marks});
  const tree::Committed committed = tree_.commit({.space = request.space,
                                                  .tokens = request.tokens,
                                                  .blocks = copied->rows,
                                                  .snapshots = copied->snapshots,
                                                  .marks = marks,
                                                  .now = request.now});
  forget_beyond_limits();
  snapshots_held_ += copied->snapshots.size();
  stored_bytes_ += committed.new_bytes;
  peak_ = std::max(peak_, tree_.bytes().resident);
  SnapshotPtr snapshot = tree_.snapshot(committed.node);
  if (wanted.alone) return {.bytes = committed.new_bytes, .snapshot = std::move(snapshot)};
  return {true, committed.new_bytes, {committed.node, length_of(request.tokens)}, snapshot};
}

SnapshotPtr MemoryTier::take_snapshot(SlotId slot, TokenSpan tokens) {
  StoreRequest request;
  request.slot = slot;
  request.tokens = tokens;
  Wanted wanted;
  wanted.snapshot = tree_.needs().snapshot;
  auto copied = copy(request, wanted);
  return copied && !copied->snapshots.empty() ? copied->snapshots.front() : nullptr;
}

RoomHold::RoomHold(MemoryTier& tier, ByteCount bytes) : tier_(&tier), bytes_(bytes) {
  tier.promised_ += bytes;
}

void RoomHold::release() {
  if (tier_ != nullptr) tier_->promised_ -= bytes_;
  tier_ = nullptr;
}

std::optional<RoomHold> MemoryTier::hold_room(ByteCount bytes, tree::NodeId node, tree::Tick now) {
  if (bytes > options_.budget) return std::nullopt;
  if (bytes > room()) {
    tree::Pin needed = tree_.pin(node);
    const ByteCount missing = bytes - room();
    if (tree_.bytes().evictable() < missing) return std::nullopt;
    plan::RoomRequest request;
    request.needed = missing;
    request.now = now;
    request.loop = loop();
    for (const plan::Victim& victim : plan::evict_bytes(tree_, request, options_.eviction))
      count(victim);
    needed.release();
    forget_beyond_limits();
  }
  if (bytes > room()) return std::nullopt;
  return RoomHold(*this, bytes);
}

bool MemoryTier::admit(const AdmitRequest& request) {
  ByteCount bytes = 0;
  if (request.snapshot != nullptr) bytes += request.snapshot->size();
  const ExtentBlock* last = nullptr;
  for (const BlockUse& use : request.rows) {
    if (use.block.get() != std::exchange(last, use.block.get())) bytes += use.block->size();
  }
  if (bytes > room()) return false;
  const std::vector<tree::PlacedHints> marks = {
      {length_of(request.tokens), request.marks.without(kDerivedHints)}};
  const std::size_t count = request.snapshot != nullptr ? 1 : 0;
  const tree::Match known = tree_.match(request.space, request.tokens);
  const bool there = !known.stops.empty() &&
                     known.stops.back().position == length_of(request.tokens) &&
                     known.stops.back().has_snapshot;
  tree_.commit({.space = request.space,
                .tokens = request.tokens,
                .snapshots = {&request.snapshot, count},
                .marks = marks,
                .now = request.now,
                .uses = request.rows});
  if (!there) snapshots_held_ += count;
  forget_beyond_limits();
  peak_ = std::max(peak_, tree_.bytes().resident);
  return true;
}

StoreOutcome MemoryTier::decline() {
  ++declined_;
  forget_beyond_limits();
  return {};
}

tree::Filed MemoryTier::remember(SpaceKey space, TokenSpan tokens, tree::Tick now) {
  if (tokens.empty()) return {};
  const tree::Committed committed = tree_.commit({.space = space, .tokens = tokens, .now = now});
  forget_beyond_limits();
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

// Out of memory is out of room.
std::optional<MemoryTier::Copied> MemoryTier::copy(const StoreRequest& request,
                                                   const Wanted& wanted) {
  try {
    Copied copied;
    const std::vector<TokenRange> blocks = blocks_of(wanted.rows);
    const bool fresh = wanted.snapshot && request.snapshot == nullptr;
    engine::CompanionSaved companion = copy_companion(request, blocks, fresh);
    auto rows = copy_rows(request.slot, blocks, companion);
    if (!rows) return std::nullopt;
    copied.rows = std::move(*rows);
    if (wanted.snapshot && request.snapshot != nullptr) {
      copied.snapshots.push_back(request.snapshot);
    } else if (wanted.snapshot) {
      auto snapshot =
          copy_snapshot(request.slot, length_of(request.tokens), std::move(companion.place));
      if (!snapshot) return std::nullopt;
      copied.snapshots.push_back(std::move(*snapshot));
    }
    for (const auto& block : copied.rows) copied.bytes += block->size();
    for (const auto& snapshot : copied.snapshots) copied.bytes += snapshot->size();
    return copied;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

Result<std::vector<ExtentBlockPtr>> MemoryTier::copy_rows(SlotId slot,
                                                          const std::vector<TokenRange>& blocks,
                                                          engine::CompanionSaved& companion) const {
  std::vector<ExtentBlockPtr> made;
  if (blocks.empty()) return made;
  auto copied = engine_.save_rows(slot, blocks);
  if (!copied) return copied.error();
  for (engine::ExtentRows& rows : *copied) {
    const TokenRange block{rows.begin, rows.end};
    made.push_back(std::make_shared<const ExtentBlock>(block, std::move(rows.bytes), rows.checksum,
                                                       std::move(companion.rows[made.size()])));
  }
  return made;
}

// A companion that answers with something else than was asked for has nothing to keep.
engine::CompanionSaved MemoryTier::copy_companion(const StoreRequest& request,
                                                  const std::vector<TokenRange>& blocks,
                                                  bool snapshot) const {
  const TokenPos length = length_of(request.tokens);
  engine::CompanionSaved saved;
  if (companion_ != nullptr && (!blocks.empty() || snapshot)) {
    saved = companion_->save(request.slot, blocks, length);
  }
  saved.rows.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto most = companion_shape_.bytes_per_token * static_cast<ByteCount>(blocks[i].length());
    if (saved.rows[i].bytes.size() > most) saved.rows[i] = {};
  }
  if (saved.place.bytes.size() > companion_shape_.bytes_per_place) saved.place = {};
  return saved;
}

Result<SnapshotPtr> MemoryTier::copy_snapshot(SlotId slot, TokenPos position,
                                              CheckedBytes companion) {
  auto saved = engine_.save(slot, engine::SaveScope::kSnapshot);
  if (!saved) return saved.error();
  CHECK(saved->length == position);
  snapshot_bytes_seen_ = std::max(
      snapshot_bytes_seen_, ByteCount{saved->bytes.size()} + companion_shape_.bytes_per_place);
  return SnapshotPtr(std::make_shared<const Snapshot>(position, std::move(saved->bytes),
                                                      saved->checksum, std::move(companion)));
}

// A part that the companion could add to is better copied again.
HeldParts MemoryTier::shared_with(const tree::Match& match, bool slot_stands_here) const {
  HeldParts parts;
  const bool wants_companion = companion_row_bytes() > 0;
  if (tree_.needs().blocks && match.covered > 0) {
    for (BlockUse& use : tree_.rows(match.node, match.covered)) {
      if (wants_companion && use.block->companion().empty()) break;
      parts.rows.push_back(std::move(use));
    }
  }
  const bool there = !match.stops.empty() && match.stops.back().position == match.length;
  if (tree_.needs().snapshot && there) parts.snapshot = tree_.snapshot(match.stops.back().node);
  const bool bare = parts.snapshot != nullptr && companion_shape_.bytes_per_place > 0 &&
                    parts.snapshot->companion().empty();
  if (bare && slot_stands_here) parts.snapshot = nullptr;
  return parts;
}

std::optional<HeldParts> MemoryTier::collect(SlotId slot, SpaceKey space, TokenSpan tokens) {
  const TokenPos length = length_of(tokens);
  CHECK(0 < length && length <= engine_.length(slot));
  HeldParts parts = shared_with(tree_.match(space, tokens), engine_.length(slot) == length);
  Wanted wanted;
  const TokenPos covered = parts.rows.empty() ? 0 : parts.rows.back().range.end;
  if (tree_.needs().blocks && covered < length) wanted.rows.push_back({covered, length});
  wanted.snapshot = tree_.needs().snapshot && parts.snapshot == nullptr;
  auto copied = copy({.slot = slot, .space = space, .tokens = tokens}, wanted);
  if (!copied) return std::nullopt;
  for (ExtentBlockPtr& block : copied->rows) {
    const TokenRange range = block->range();
    parts.rows.push_back({std::move(block), range});
  }
  if (wanted.snapshot) parts.snapshot = std::move(copied->snapshots.front());
  return parts;
}

// --- and back --------------------------------------------------------------------

Result<ByteCount> MemoryTier::restore(SlotId slot, tree::NodeId node, TokenSpan tokens,
                                      tree::Tick now) {
  HeldParts parts;
  if (tree_.needs().blocks) parts.rows = tree_.rows(node, length_of(tokens));
  if (tree_.needs().snapshot) parts.snapshot = tree_.snapshot(node);
  auto bytes = restore(slot, tokens, parts);
  if (bytes) tree_.record_hit(node, now);
  return bytes;
}

Result<ByteCount> MemoryTier::restore(SlotId slot, TokenSpan tokens, const HeldParts& parts) {
  return restore_parts(engine_, slot, tokens, parts);
}

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

std::optional<HeldParts> MemoryTier::parts_of(SpaceKey space, TokenSpan tokens) const {
  const tree::Match match = tree_.match(space, tokens);
  const TokenPos length = length_of(tokens);
  if (!match.node || match.matched < length) return std::nullopt;
  HeldParts parts;
  if (tree_.needs().blocks) {
    if (match.covered < length) return std::nullopt;
    parts.rows = tree_.rows(match.node, length);
  }
  if (tree_.needs().snapshot) {
    const bool stands_here = !match.stops.empty() && match.stops.back().position == length;
    if (stands_here) parts.snapshot = tree_.snapshot(match.stops.back().node);
    if (parts.snapshot == nullptr) return std::nullopt;
  }
  return parts;
}

Result<ByteCount> MemoryTier::load_snapshot(SlotId slot, tree::NodeId node, tree::Tick now) {
  const SnapshotPtr snapshot = tree_.snapshot(node);
  CHECK(snapshot != nullptr);
  auto bytes = load_snapshot(slot, *snapshot);
  if (bytes) tree_.record_hit(node, now);
  return bytes;
}

Result<ByteCount> MemoryTier::load_snapshot(SlotId slot, const Snapshot& snapshot) {
  if (auto loaded = engine_.load(slot, view_of(snapshot)); !loaded) {
    engine_.clear(slot);
    return loaded.error();
  }
  return snapshot.size();
}

CompanionHolding MemoryTier::companion_state(SpaceKey space, TokenSpan tokens) const {
  if (companion_shape_.bytes_per_token + companion_shape_.bytes_per_place == 0) return {};
  const tree::Match match = tree_.match(space, tokens);
  if (!match.node) return {};
  HeldParts parts;
  if (companion_row_bytes() > 0) parts.rows = tree_.rows(match.node, match.matched);
  const bool stands_here = !match.stops.empty() && match.stops.back().position == length_of(tokens);
  if (stands_here) parts.snapshot = tree_.snapshot(match.stops.back().node);
  return companion_parts(parts);
}

CompanionHolding MemoryTier::companion_parts(const HeldParts& parts) const {
  CompanionHolding holding;
  holding.snapshot = parts.snapshot;
  if (holding.snapshot != nullptr) holding.place = holding.snapshot->companion();
  if (companion_row_bytes() == 0) return holding;
  holding.blocks = parts.rows;
  for (const BlockUse& use : holding.blocks) {
    engine::RowsView view = view_of(use);
    view.checksum = use.block->companion().checksum;
    view.bytes = use.block->companion().bytes;
    if (!view.bytes.empty()) holding.rows.push_back(view);
  }
  return holding;
}

bool MemoryTier::intact(std::span<const std::byte> bytes, std::uint64_t checksum) const {
  return journal_ != nullptr ? journal_->intact(bytes, checksum) : hash_bytes(bytes) == checksum;
}

void MemoryTier::quarantine(SpaceKey space, TokenSpan tokens, tree::Tick now) {
  ++quarantined_;
  const tree::EvictionNote note{tree::EvictReason::kCorrupt, now};
  bool found = false;
  if (const tree::Match match = tree_.match(space, tokens); match.node) {
    found = evict_damaged_rows(match.node, now);
  }
  const tree::Match match = tree_.match(space, tokens);
  const bool stands_at_end = !match.stops.empty() && match.stops.back().position == match.length;
  const SnapshotPtr snapshot = stands_at_end ? tree_.snapshot(match.stops.back().node) : nullptr;
  if (snapshot != nullptr && (!found || !intact(snapshot->bytes(), snapshot->checksum()))) {
    evict_snapshot(match.stops.back().node, note);
  } else if (snapshot == nullptr && !found && match.node) {
    if (const auto freed = tree_.evict_rows(match.node, 0, note)) {
      count({tree::Held::kBlocks, match.node, match.matched, *freed, note.reason});
    }
  }
  forget_beyond_limits();
}

void MemoryTier::evict_snapshot(tree::NodeId node, tree::EvictionNote note) {
  const TokenPos position = tree_.facts(node).range.end;
  if (const auto freed = tree_.evict_snapshot(node, note)) {
    count({tree::Held::kSnapshot, node, position, *freed, note.reason});
  }
}

// On the way to the node, from there upwards. Returns whether there were any.
bool MemoryTier::evict_damaged_rows(tree::NodeId node, tree::Tick now) {
  const tree::EvictionNote note{tree::EvictReason::kCorrupt, now};
  bool found = false;
  for (tree::NodeId at = node; at && tree_.alive(at);) {
    const tree::NodeFacts facts = tree_.facts(at);
    TokenPos damaged = -1;
    for (const BlockUse& use : tree_.rows(at, facts.range.end)) {
      const bool on_edge = !intersection(use.range, facts.range).empty();
      if (on_edge && !intact(use.block->bytes(), use.block->checksum())) {
        damaged = std::max(use.range.begin, facts.range.begin);
        break;
      }
    }
    if (damaged >= 0) {
      found = true;
      if (const auto freed = tree_.evict_rows(at, damaged, note)) {
        count({tree::Held::kBlocks, at, damaged, *freed, note.reason});
      }
    }
    at = facts.parent;
  }
  return found;
}

void MemoryTier::retire(tree::Tick now) {
  drop_bytes({tree::EvictReason::kDisproved, now});
  retired_ = true;
}

// Whoever asks for it wants nothing of what was said to be left, so no note stays either.
ByteCount MemoryTier::clear() {
  const ByteCount freed = drop_bytes({});
  tree_.trim_ghost(0);
  return freed;
}

ByteCount MemoryTier::drop_bytes(tree::EvictionNote note) {
  const ByteCount before = tree_.bytes().resident;
  while (const tree::NodeId at = tree_.oldest(tree::Held::kSnapshot)) {
    if (!tree_.evict_snapshot(at, note)) break;
    --snapshots_held_;
  }
  while (const tree::NodeId at = tree_.oldest(tree::Held::kBlocks)) {
    if (!tree_.evict_rows(at, 0, note)) break;
  }
  forget_beyond_limits();
  return before - tree_.bytes().resident;
}

void MemoryTier::count(const plan::Victim& victim) {
  if (victim.held == tree::Held::kSnapshot) {
    ++evicted_snapshots_;
    --snapshots_held_;
  } else {
    ++evicted_rows_;
  }
  evicted_bytes_ += victim.bytes;
  if (on_evicted) on_evicted(victim);
}

void MemoryTier::report(CacheStatus& status) const {
  status.enabled = enabled();
  status.budget = options_.budget;
  status.resident = tree_.bytes().resident;
  status.extents = tree_.bytes(tree::ByteKind::kBlocks).resident;
  status.snapshots = tree_.bytes(tree::ByteKind::kSnapshots).resident;
  status.pinned = tree_.bytes().pinned;
  status.peak = peak_;
  status.snapshot_count = snapshots_held_;
  status.nodes = tree_.node_count();
  status.tokens = tree_.token_count();
  status.ghost_tokens = tree_.ghost_tokens();
  status.declined = declined_;
  status.evicted_snapshots = evicted_snapshots_;
  status.evicted_rows = evicted_rows_;
  status.evicted_bytes = evicted_bytes_;
  status.stored_bytes = stored_bytes_;
  status.quarantined = quarantined_;
}

std::vector<std::string> MemoryTier::check() const {
  std::vector<std::string> violations = tree_.check();
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) violations.emplace_back(what);
  };
  expect(tree_.bytes().resident + promised_ <= options_.budget,
         "M1: more is held than the budget allows");
  expect(peak_ <= options_.budget, "M1: more was held than the budget allows");
  expect(tree_.pin_count() == 0, "M2: something is still pinned");
  expect(tree_.ghost_tokens() <= options_.ghost_tokens_max, "M3: too much is remembered");
  expect(tree_.node_count() <= options_.nodes_max || tree_.ghost_tokens() == 0,
         "M3: too many nodes are remembered");
  return violations;
}

}  // namespace holdfast::cache
