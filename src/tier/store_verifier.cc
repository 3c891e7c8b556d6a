#include "tier/store_verifier.h"

#include <algorithm>
#include <unordered_set>

namespace holdfast::tier {

VerifyReport StoreVerifier::run(const VerifyProgress& progress, Rebuild rebuild) {
  VerifyReport report;
  std::unordered_set<BlobKey, BlobKeyHash> indexed;
  if (const auto listed = shelf_.index.list_as_is()) {
    for (const BlobSummary& blob : *listed) indexed.insert(blob.key);
  }
  std::unordered_set<BlobKey, BlobKeyHash> gone = indexed;
  for (const auto& [key, held] : shelf_.held.all()) gone.insert(key);
  const std::vector<BlobFile> files = shelf_.blobs.list(report.strangers);
  ByteCount total = 0;
  for (const BlobFile& file : files) total += file.bytes;
  std::vector<IndexEntry> entries;
  for (const BlobFile& file : files) {
    if (progress && !progress(report.checked_bytes, total)) {
      report.stopped = true;
      return report;
    }
    verify_file(file, report, entries);
    if (!indexed.contains(file.key)) ++report.unknown;
    gone.erase(file.key);
  }
  if (progress) progress(total, total);
  report.missing = gone.size();
  if (shelf_.writes()) settle(entries, {gone.begin(), gone.end()}, rebuild);
  return report;
}

void StoreVerifier::verify_file(const BlobFile& file, VerifyReport& report,
                                std::vector<IndexEntry>& entries) {
  ++report.checked;
  report.checked_bytes += file.bytes;
  const HeldBlob* const held = shelf_.held.find(file.key);
  const std::int64_t used_ms = held != nullptr ? held->used_ms : INT64_MIN;
  if (shelf_.writes() && held == nullptr) shelf_.held.add(file.key, {.bytes = file.bytes});
  auto blob = shelf_.read(file.key, Verify::kPartsAndDigest);
  if (blob) {
    const std::int64_t created = std::min(blob->facts.created_ms, shelf_.now());
    entries.push_back({std::move(blob->facts), std::max(used_ms, created)});
    return;
  }
  const ErrorCode code = blob.error().code;
  const bool damaged = code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnsupported;
  damaged ? ++report.damaged : ++report.unreadable;
  if (report.failures.size() < VerifyReport::kFailuresMax)
    report.failures.push_back({file.key, blob.error().message});
}

// What was verified is held and indexed as it is.
void StoreVerifier::settle(const std::vector<IndexEntry>& entries, const std::vector<BlobKey>& gone,
                           Rebuild rebuild) {
  if (rebuild == Rebuild::kYes) shelf_.index.clear();
  for (const BlobKey& key : gone) shelf_.held.remove(key);
  if (!gone.empty()) shelf_.index.erase(gone);
  for (const IndexEntry& entry : entries) {
    shelf_.held.remove(entry.facts.key);
    shelf_.held.add(entry.facts.key, HeldBlob::of(entry.facts, entry.used_ms));
  }
  shelf_.index.put(entries);
}

}  // namespace holdfast::tier
