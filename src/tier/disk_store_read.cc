// Finding and loading what a folder holds.
#include "tier/disk_store.h"
#include "tier/store_match.h"

namespace holdfast::tier {

// --- finding -----------------------------------------------------------------------------

StoreMatch DiskStore::lookup(SpaceKey space, TokenSpan tokens) {
  StoreMatch match;
  match.space = space;
  match.tokens.assign(tokens.begin(), tokens.end());
  PathNamer names(space);
  names.append(tokens);
  match.anchors = names.anchors();
  const auto entries = shelf_.index.along(space, match.anchors);
  if (entries) {
    sort_in(match, *entries, [this](const BlobKey& key) { return shelf_.is_offered(key); });
  }
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

}  // namespace holdfast::tier
