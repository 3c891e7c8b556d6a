#include "tier/shelf_survey.h"

#include <algorithm>

#include "tier/blob_shelf.h"

namespace holdfast::tier {

namespace {

HeldBlobs::Map held_by(StoreIndex& index, StoreStats& stats, std::int64_t now_ms) {
  HeldBlobs::Map known;
  auto listed = index.list_as_is();
  if (!listed) {
    stats.note_failure(listed.error().message);
    index.start_over();
    return known;
  }
  for (const BlobSummary& blob : *listed) {
    known[blob.key] = HeldBlob::of(blob, std::min(blob.used_ms, now_ms));
  }
  return known;
}

}  // namespace

void ShelfSurvey::agree() {
  std::uint64_t strangers = 0;
  HeldBlobs::Map known = held_by(shelf_.index, shelf_.stats, shelf_.now());
  std::vector<BlobFile> unknown;
  for (const BlobFile& file : shelf_.blobs.list(strangers)) {
    const auto found = known.find(file.key);
    if (found == known.end() || found->second.bytes != file.bytes) {
      unknown.push_back(file);
      continue;
    }
    shelf_.held.add(file.key, found->second);
    known.erase(found);
  }
  std::vector<BlobKey> gone;
  for (const auto& [key, blob] : known) gone.push_back(key);
  if (!gone.empty()) shelf_.index.erase(gone);
  adopt(unknown);
}

void ShelfSurvey::adopt(const std::vector<BlobFile>& files) {
  const bool writes = shelf_.writes();
  std::vector<IndexEntry> entries;
  for (const BlobFile& file : files) {
    if (writes) shelf_.held.add(file.key, {.bytes = file.bytes});  // counted, whatever it is
    auto entry = read_entry(file);
    if (!entry) continue;
    if (writes) {
      shelf_.held.remove(file.key);
      shelf_.held.add(file.key, HeldBlob::of(entry->facts, entry->used_ms));
    }
    entries.push_back(std::move(*entry));
  }
  if (!entries.empty()) shelf_.index.put(entries);
}

// Nothing for a file that fails; then it is in quarantine, or, where the system failed, held
// without being known.
std::optional<IndexEntry> ShelfSurvey::read_entry(const BlobFile& file) {
  auto opened = shelf_.blobs.open(file.key);
  if (!opened.ok()) {
    shelf_.stats.note_failure(io_error("a blob cannot be opened", opened.error).message);
    return std::nullopt;
  }
  FileSource source(*opened.value);
  auto facts = read_facts(source);
  if (facts && facts->key == file.key) {
    const std::int64_t used_ms = std::min(facts->created_ms, shelf_.now());
    return IndexEntry{std::move(*facts), used_ms};
  }
  const bool damaged = facts || facts.error().code == ErrorCode::kInvalidArgument ||
                       facts.error().code == ErrorCode::kUnsupported;
  const std::string why = facts ? "it is another blob than its name says" : facts.error().message;
  if (damaged) shelf_.put_aside(file.key, why);
  if (!damaged) shelf_.stats.note_failure(why);
  return std::nullopt;
}

std::vector<IndexEntry> ShelfSurvey::entries_of_held() {
  std::vector<BlobFile> files;
  for (const auto& [key, blob] : shelf_.held.all()) files.push_back({key, blob.bytes});
  std::vector<IndexEntry> entries;
  for (const BlobFile& file : files) {
    auto entry = read_entry(file);
    if (!entry) continue;
    if (const HeldBlob* const known = shelf_.held.find(file.key)) {
      entry->used_ms = known->used_ms;
      entry->facts.saves = known->saves;
    }
    entries.push_back(std::move(*entry));
  }
  return entries;
}

}  // namespace holdfast::tier
