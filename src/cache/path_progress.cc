#include "cache/path_progress.h"

#include <algorithm>
#include <utility>

namespace holdfast::cache {

namespace {

// What blobs have beside their states, on the generous side.
constexpr ByteCount kHeaderPerToken = 10;
constexpr ByteCount kHeaderOfPlace = 1024;

// The deepest place that has its rows.
TokenPos restorable(const tier::StoreMatch& there) {
  const auto beyond =
      std::ranges::upper_bound(there.places, there.covered, {}, &tier::PlaceHit::position);
  return beyond == there.places.begin() ? 0 : std::prev(beyond)->position;
}

PathOutline outline_of(const KeptPath& path, const tier::StoreMatch& there, TokenPos blob_tokens) {
  PathOutline outline;
  outline.length = length_of(path.keys);
  outline.bytes_per_token = path.rows.empty() ? 0 : path.bytes_per_token + kHeaderPerToken;
  outline.blob_tokens = blob_tokens;
  outline.needs_places = path.needs_places;
  for (const KeptPlace& place : path.places) {
    outline.places.push_back({place.position, place.bytes + kHeaderOfPlace, place.role});
  }
  outline.there = there.places;
  outline.rows_there = there.rows;
  return outline;
}

// What the store has of the path itself.
std::vector<tier::BlobKey> blobs_of(const PathOutline& outline) {
  std::vector<tier::BlobKey> keys;
  for (const tier::RowsHit& rows : outline.rows_there) keys.push_back(rows.key);
  for (const tier::PlaceHit& place : outline.there) {
    if (std::ranges::binary_search(outline.places, place.position, {}, &PlaceOutline::position)) {
      keys.push_back(place.key);
    }
  }
  return keys;
}

}  // namespace

PathProgress::PathProgress(KeptPath path, tier::BlobStore& store, std::int64_t now_ms,
                           TokenPos blob_tokens)
    : path_(std::move(path)), names_(path_.space), blob_tokens_(blob_tokens) {
  names_.append(path_.keys);
  moment_ = store.moment(now_ms);
  const tier::StoreMatch there = store.lookup(path_.space, path_.keys);
  const PathOutline outline = outline_of(path_, there, blob_tokens);
  // What is there of it does not make way for the rest.
  store.touch(blobs_of(outline), moment_.ms);
  plan_ = plan_keeping(
      outline, [&](double saves_per_byte) { return store.room_for(saves_per_byte, moment_); });
  restorable_ = restorable(there);
}

TokenPos PathProgress::rows_end() const {
  return path_.rows.empty() ? 0 : std::min(path_.rows.back().range.end, plan_.length);
}

bool PathProgress::core_written() const {
  return core_done_ >= plan_.core.size() && rows_done_ >= rows_end();
}

bool PathProgress::all_written() const {
  return core_written() && waypoints_done_ >= plan_.waypoints.size();
}

ByteCount PathProgress::bytes_left() const {
  const TokenPos rows = rows_end() - std::min(rows_done_, rows_end());
  ByteCount bytes = static_cast<ByteCount>(rows) * path_.bytes_per_token;
  for (std::size_t i = core_done_; i < plan_.core.size(); ++i) {
    bytes += path_.places[plan_.core[i].index].bytes;
  }
  for (std::size_t i = waypoints_done_; i < plan_.waypoints.size(); ++i) {
    bytes += path_.places[plan_.waypoints[i].index].bytes;
  }
  return bytes;
}

PathPart PathProgress::next() const {
  const auto& core = plan_.core;
  const bool stands =
      core_done_ < core.size() &&
      (rows_done_ >= rows_end() || path_.places[core[core_done_].index].position <= rows_done_);
  if (stands) return {PathPart::Kind::kCorePlace, {}, core[core_done_]};
  if (rows_done_ < rows_end()) {
    return {
        PathPart::Kind::kRows, {rows_done_, std::min(rows_done_ + blob_tokens_, rows_end())}, {}};
  }
  if (waypoints_done_ < plan_.waypoints.size())
    return {PathPart::Kind::kWaypoint, {}, plan_.waypoints[waypoints_done_]};
  return {};
}

void PathProgress::done(const PathPart& part) {
  if (part.kind == PathPart::Kind::kCorePlace) ++core_done_;
  if (part.kind == PathPart::Kind::kRows) rows_done_ = part.rows.end;
  if (part.kind == PathPart::Kind::kWaypoint) ++waypoints_done_;
}

std::optional<tier::RowsBlob> PathProgress::rows_blob(TokenRange range) {
  const auto& all = path_.rows;
  tier::RowsBlob blob;
  TokenPos reached = range.begin;
  while (rows_at_ < all.size() && all[rows_at_].range.end <= range.begin) ++rows_at_;
  for (std::size_t i = rows_at_; i < all.size() && all[i].range.begin < range.end; ++i) {
    const TokenRange used = intersection(all[i].range, range);
    auto block = all[i].block.lock();
    if (block == nullptr || used.begin != reached) break;
    blob.rows.push_back({std::move(block), used});
    reached = used.end;
  }
  if (reached < range.end) return std::nullopt;
  blob.path = tier::BlobPath::of_rows(path_.space, names_, path_.keys, range);
  return blob;
}

std::optional<tier::PlaceBlob> PathProgress::place_blob(const PlaceToKeep& kept) const {
  const KeptPlace& place = path_.places[kept.index];
  tier::PlaceBlob blob;
  blob.snapshot = place.snapshot.lock();
  if (const auto logits = place.logits.lock()) blob.logits = *logits;
  const bool gone = place.needs_snapshot ? blob.snapshot == nullptr : blob.logits.empty();
  if (gone) return std::nullopt;
  blob.path = tier::BlobPath::of_place(path_.space, names_, path_.keys, place.position);
  blob.marks = place.marks;
  return blob;
}

void PathProgress::note_stored(const tier::BlobFacts& facts) {
  const bool was_there =
      std::ranges::find(plan_.there, facts.key, &tier::BlobWorth::key) != plan_.there.end();
  if (facts.kind == tier::BlobKind::kRows && !was_there) {
    stored_.emplace_back(facts.key, facts.path.range.begin);
  }
}

// The next turn finds what is left.
void PathProgress::give_up(tier::BlobStore& store) {
  const TokenPos now = restorable(store.lookup(path_.space, path_.keys));
  const TokenPos used_below = now > restorable_ ? now : 0;
  std::vector<tier::BlobWorth> useless;
  for (const auto& [key, begin] : stored_) {
    if (path_.needs_places && begin >= used_below) useless.push_back({key, 0});
  }
  store.revalue(useless, moment_);
  plan_ = {};
}

}  // namespace holdfast::cache
