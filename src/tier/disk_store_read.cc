// Finding, loading and verifying what a folder holds.
#include <algorithm>
#include <limits>

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
    if (writes() ? !held_.contains(facts.key) : unreadable_.contains(facts.key)) continue;
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
  auto entries = index_->along(space, match.anchors);
  if (!entries) {
    mend_index(entries.error());
    entries = index_->along(space, match.anchors);
  }
  if (entries) sort_in(match, *entries);
  return match;
}

// --- loading -----------------------------------------------------------------------------

Result<Blob> DiskStore::read(const BlobKey& key, Verify verify) {
  auto opened = uninterrupted([&] { return files_.open(blob_path(key)); });
  if (opened.error == ENOENT) {
    forget(key);
    if (writes()) index_erase(std::span(&key, 1));
    return Error{ErrorCode::kNotFound, "the blob is not there any more", {}};
  }
  if (!opened.ok()) {
    Error error = io_error("a blob cannot be opened", opened.error);
    note_failure(error.message);
    return error;
  }
  FileSource source(*opened.value);
  auto blob = read_blob(source, verify);
  if (blob && blob->facts.key != key)
    blob = Error{ErrorCode::kInvalidArgument, "it is another blob than its name says", {}};
  if (blob) return blob;
  const ErrorCode code = blob.error().code;
  if (code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnsupported) {
    quarantine(key, blob.error().message);
  } else {
    note_failure(blob.error().message);
  }
  return blob;
}

Result<Blob> DiskStore::load(const BlobKey& key, Verify verify) {
  auto blob = read(key, verify);
  if (blob) {
    ++stats_.loaded;
    stats_.loaded_bytes += blob->facts.bytes;
  }
  return blob;
}

Result<BlobFacts> DiskStore::facts_of(const BlobKey& key) {
  auto opened = uninterrupted([&] { return files_.open(blob_path(key)); });
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
  note_failure("the index had wrong tokens for a blob");
  if (writes()) {
    forget(key);
    enter(blob->facts, now_ms_);
  }
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

std::vector<BlobSummary> DiskStore::list() {
  auto listed = index_->list();
  if (!listed) {
    mend_index(listed.error());
    listed = index_->list();
  }
  if (!listed) return {};
  if (writes())
    std::erase_if(*listed, [&](const BlobSummary& blob) { return !held_.contains(blob.key); });
  std::ranges::sort(*listed, {}, &BlobSummary::key);
  return std::move(*listed);
}

std::vector<SpaceTotal> DiskStore::space_totals() {
  auto totals = index_->totals();
  if (!totals) {
    mend_index(totals.error());
    totals = index_->totals();
  }
  if (!totals) return {};
  std::ranges::sort(*totals, {}, &SpaceTotal::space);
  return std::move(*totals);
}

std::vector<BlobPath> DiskStore::paths_of(std::span<const BlobSummary> blobs) {
  if (blobs.empty()) return {};
  std::unordered_set<BlobKey, KeyHash> wanted;
  std::vector<PathName> anchors;
  for (const BlobSummary& blob : blobs) {
    wanted.insert(blob.key);
    anchors.push_back(blob.anchor);
  }
  std::ranges::sort(anchors);
  anchors.erase(std::unique(anchors.begin(), anchors.end()), anchors.end());
  const auto entries = index_->along(blobs.front().space, anchors);
  if (!entries) note_failure(entries.error().message);
  std::vector<BlobPath> paths;
  for (const IndexEntry& entry : entries ? *entries : std::vector<IndexEntry>{}) {
    if (wanted.contains(entry.facts.key)) paths.push_back(entry.facts.path);
  }
  return paths;
}

// --- verifying ---------------------------------------------------------------------------

VerifyReport DiskStore::verify(const VerifyProgress& progress, Rebuild rebuild) {
  VerifyReport report;
  std::unordered_set<BlobKey, KeyHash> indexed;
  if (const auto listed = index_->list()) {
    for (const BlobSummary& blob : *listed) indexed.insert(blob.key);
  }
  std::unordered_set<BlobKey, KeyHash> gone = indexed;
  for (const auto& [key, held] : held_) gone.insert(key);
  const std::vector<BlobFile> files = list_files(report.strangers);
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
  if (writes()) settle_verified(entries, {gone.begin(), gone.end()}, rebuild);
  return report;
}

void DiskStore::verify_file(const BlobFile& file, VerifyReport& report,
                            std::vector<IndexEntry>& entries) {
  ++report.checked;
  report.checked_bytes += file.bytes;
  const auto held = held_.find(file.key);
  const std::int64_t used_ms = held != held_.end() ? held->second.used_ms : INT64_MIN;
  if (writes() && held == held_.end()) hold_as(file.key, {.bytes = file.bytes});
  auto blob = read(file.key, Verify::kPartsAndDigest);
  if (blob) {
    const std::int64_t created = std::min(blob->facts.created_ms, now_ms_);
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
void DiskStore::settle_verified(const std::vector<IndexEntry>& entries,
                                const std::vector<BlobKey>& gone, Rebuild rebuild) {
  if (rebuild == Rebuild::kYes) {
    ++stats_.index_rebuilds;
    if (auto cleared = index_->clear(); !cleared) mend_index(cleared.error());
  }
  for (const BlobKey& key : gone) forget(key);
  if (!gone.empty()) index_erase(gone);
  for (const IndexEntry& entry : entries) {
    forget(entry.facts.key);
    hold(entry.facts, entry.used_ms);
  }
  index_put(entries);
  shrink_to(budget(), now_ms_);
}

// --- check -------------------------------------------------------------------------------

void DiskStore::check_files(std::vector<std::string>& wrong) {
  std::uint64_t strangers = 0;
  ByteCount bytes = 0;
  const std::vector<BlobFile> files = list_files(strangers);
  for (const BlobFile& file : files) {
    bytes += file.bytes;
    const auto found = held_.find(file.key);
    if (found == held_.end()) wrong.push_back("D2: " + file.key.hex() + " is not held");
    if (found != held_.end() && found->second.bytes != file.bytes)
      wrong.push_back("D2: " + file.key.hex() + " has another size");
  }
  if (files.size() != held_.size()) wrong.emplace_back("D2: a held blob has no file");
  const StoreStats before = stats_;
  survey_quarantine();
  if (before.quarantine_bytes != stats_.quarantine_bytes)
    wrong.emplace_back("D1: the quarantine's bytes");
  if (stats_.rows_bytes + stats_.place_bytes != bytes) wrong.emplace_back("D1: the blobs' bytes");
  if (stats_.bytes() > options_.budget) wrong.emplace_back("D1: beyond the budget");
  const auto tmp = uninterrupted([&] { return files_.list("tmp"); });
  if (!tmp.value.empty()) wrong.emplace_back("D4: tmp/ is not empty");
}

void DiskStore::check_index(std::vector<std::string>& wrong) {
  const auto listed = index_->list();
  if (!listed) {
    wrong.push_back("D3: " + listed.error().message);
    return;
  }
  std::size_t known = 0;
  for (const BlobSummary& blob : *listed) {
    const auto found = held_.find(blob.key);
    if (found == held_.end()) continue;
    ++known;
    if (found->second.bytes != blob.bytes || found->second.kind != blob.kind)
      wrong.push_back("D3: " + blob.key.hex() + " is another in the index");
  }
  if (known != held_.size()) wrong.emplace_back("D3: the index lacks a held blob");
}

void DiskStore::check_ends(std::vector<std::string>& wrong) const {
  if (options_.stored_depths == nullptr) return;
  std::size_t known = 0;
  for (const auto& [key, held] : held_) {
    if (held.end == 0) continue;
    ++known;
    if (!options_.stored_depths->contains(held.anchor, held.end))
      wrong.push_back("D5: the end of " + key.hex() + " is not known");
  }
  if (known != options_.stored_depths->size()) wrong.emplace_back("D5: an end of no held blob");
}

// As blob by blob.
void DiskStore::check_ages(std::vector<std::string>& wrong) const {
  std::map<double, std::map<std::int64_t, ByteCount>> counted;
  for (const auto& [key, held] : held_) counted[worth_of(held)][held.used_ms] += held.bytes;
  if (counted.size() != ages_.size()) wrong.emplace_back("D6: another number of worths");
  for (const auto& [worth, ages] : ages_) {
    for (const std::string& violation : ages.check()) wrong.push_back("D6: " + violation);
    std::vector<AgeSums::Entry> wanted;
    for (const auto& [used_ms, bytes] : counted[worth]) wanted.push_back({used_ms, bytes});
    if (ages.entries() != wanted) wrong.emplace_back("D6: other bytes than those that are held");
  }
}

std::vector<std::string> DiskStore::check() {
  std::vector<std::string> wrong;
  if (!writes()) return wrong;
  check_files(wrong);
  check_index(wrong);
  check_ends(wrong);
  check_ages(wrong);
  return wrong;
}

}  // namespace holdfast::tier
