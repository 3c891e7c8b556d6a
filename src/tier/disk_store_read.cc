// Finding and loading what a folder holds.
#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "tier/disk_store.h"

namespace holdfast::tier {

namespace {

// How far a blob's tokens agree with a prompt: a position, 0 if not even its anchor does.
TokenPos agreed_end(const BlobPath& path, TokenSpan tokens, std::span<const PathName> anchors) {
  const auto cell = static_cast<std::size_t>(path.first() / kBlockTokens);
  if (cell >= anchors.size() || anchors[cell] != path.anchor) return 0;
  const TokenSpan rest = tokens.subspan(static_cast<std::size_t>(path.first()));
  return path.first() + common_prefix(path.tokens, rest);
}

// The fewest of them that cover what can be covered from 0 on: of those that begin early
// enough always the one that reaches furthest.
void cover(std::vector<RowsHit> all, StoreMatch& match) {
  std::ranges::sort(all, {}, [](const RowsHit& hit) { return hit.range.begin; });
  for (std::size_t at = 0;;) {
    const RowsHit* best = nullptr;
    for (; at < all.size() && all[at].range.begin <= match.covered; ++at) {
      if (best == nullptr || all[at].range.end > best->range.end) best = &all[at];
    }
    // Those that begin later have not been seen; the best of those seen is enough.
    if (best == nullptr || best->range.end <= match.covered) return;
    match.rows.push_back(*best);
    match.covered = best->range.end;
  }
}

}  // namespace

// --- finding -----------------------------------------------------------------------------

void DiskStore::sort_in(StoreMatch& match, const std::vector<IndexEntry>& entries) const {
  std::vector<RowsHit> rows;
  for (const IndexEntry& entry : entries) {
    const BlobFacts& facts = entry.facts;
    const TokenRange range = facts.path.range;
    if (!shelf_.is_offered(facts.key)) continue;
    const TokenPos end = agreed_end(facts.path, match.tokens, match.anchors);
    if (facts.kind == BlobKind::kRows && end > range.begin)
      rows.push_back({facts.key, {range.begin, end}, facts.bytes, facts.saves, end == range.end});
    if (facts.kind == BlobKind::kPlace && end == range.end)
      match.places.push_back({facts.key, end, facts.bytes, facts.saves, facts.marks, facts.logits});
  }
  std::ranges::sort(match.places, {}, &PlaceHit::position);
  cover(std::move(rows), match);
}

StoreMatch DiskStore::lookup(SpaceKey space, TokenSpan tokens) {
  StoreMatch match;
  match.space = space;
  match.tokens.assign(tokens.begin(), tokens.end());
  PathNamer names(space);
  names.append(tokens);
  match.anchors = names.anchors();
  const auto entries = shelf_.index.along(space, match.anchors);
  if (entries) sort_in(match, *entries);
  return match;
}

// --- loading -----------------------------------------------------------------------------

Result<Blob> DiskStore::load(const BlobKey& key, Verify verify) {
  auto blob = shelf_.read(key, verify);
  if (blob) {
    ++shelf_.stats.loaded;
    shelf_.stats.loaded_bytes += blob->facts.bytes;
  }
  return blob;
}

Result<BlobFacts> DiskStore::facts_of(const BlobKey& key) {
  auto opened = shelf_.blobs.open(key);
  if (!opened.ok()) return io_error("the blob cannot be opened", opened.error);
  FileSource source(*opened.value);
  return read_facts(source);
}

// The index said that this blob agrees with the prompt up to `end`. The blob has the last word.
Result<Blob> DiskStore::load_for(const StoreMatch& match, const BlobKey& key, TokenPos end) {
  auto blob = load(key);
  if (!blob) return blob;
  const BlobPath& path = blob->facts.path;
  if (path.space == match.space && agreed_end(path, match.tokens, match.anchors) >= end)
    return blob;
  shelf_.stats.note_failure("the index had wrong tokens for a blob");
  if (writes()) shelf_.enter(blob->facts, shelf_.now());
  return Error{ErrorCode::kNotFound, "the blob is of other tokens", {}};
}

Result<RowsBlob> DiskStore::load(const StoreMatch& match, const RowsHit& hit) {
  auto blob = load_for(match, hit.key, hit.range.end);
  if (!blob) return blob.error();
  auto* const rows = std::get_if<RowsBlob>(&blob->content);
  if (rows == nullptr || rows->path.range.begin > hit.range.begin)
    return Error{ErrorCode::kNotFound, "the blob holds other rows", {}};
  return std::move(*rows);
}

Result<PlaceBlob> DiskStore::load(const StoreMatch& match, const PlaceHit& hit) {
  auto blob = load_for(match, hit.key, hit.position);
  if (!blob) return blob.error();
  auto* const place = std::get_if<PlaceBlob>(&blob->content);
  if (place == nullptr || place->path.range.end != hit.position)
    return Error{ErrorCode::kNotFound, "the blob is of another place", {}};
  return std::move(*place);
}

std::vector<SpaceTotal> DiskStore::space_totals() {
  auto totals = shelf_.index.totals();
  if (!totals) return {};
  std::ranges::sort(*totals, {}, &SpaceTotal::space);
  return std::move(*totals);
}

std::vector<BlobPath> DiskStore::paths_of(std::span<const BlobSummary> blobs) {
  if (blobs.empty()) return {};
  std::unordered_set<BlobKey, BlobKeyHash> wanted;
  std::vector<PathName> anchors;
  for (const BlobSummary& blob : blobs) {
    wanted.insert(blob.key);
    anchors.push_back(blob.anchor);
  }
  std::ranges::sort(anchors);
  anchors.erase(std::unique(anchors.begin(), anchors.end()), anchors.end());
  const auto entries = shelf_.index.along(blobs.front().space, anchors);
  std::vector<BlobPath> paths;
  for (const IndexEntry& entry : entries ? *entries : std::vector<IndexEntry>{}) {
    if (wanted.contains(entry.facts.key)) paths.push_back(entry.facts.path);
  }
  return paths;
}

}  // namespace holdfast::tier
