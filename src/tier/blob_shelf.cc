#include "tier/blob_shelf.h"

#include "tier/shelf_survey.h"

namespace holdfast::tier {

BlobShelf::BlobShelf(FileSystem& files, ByteCount budget, double tau_s,
                     std::shared_ptr<StoredDepths> depths)
    : blobs(files, stats),
      held(stats, std::move(depths), tau_s),
      index(stats),
      quarantine(files, stats),
      budget_(budget) {}

// --- opening -----------------------------------------------------------------------------

void BlobShelf::open(StoreRole role, const IndexMaker& make_index, std::int64_t now_ms) {
  role_ = role;
  see(now_ms);
  const bool has_index = index.open(make_index, role,
                                    {[this](const BlobKey& key) { return held.contains(key); },
                                     [this] { return ShelfSurvey(*this).entries_of_held(); }});
  std::uint64_t strangers = 0;
  if (!has_index && !writes()) ShelfSurvey(*this).adopt(blobs.list(strangers));
  quarantine.survey();
  if (writes()) ShelfSurvey(*this).agree();
}

// --- what is there -----------------------------------------------------------------------

ByteCount BlobShelf::room() const { return stats.bytes() < budget_ ? budget_ - stats.bytes() : 0; }

bool BlobShelf::is_offered(const BlobKey& key) const {
  return writes() ? held.contains(key) : !unreadable_.contains(key);
}

std::vector<BlobSummary> BlobShelf::list() {
  auto listed = index.list();
  if (!listed) return {};
  if (writes())
    std::erase_if(*listed, [&](const BlobSummary& blob) { return !held.contains(blob.key); });
  std::ranges::sort(*listed, {}, &BlobSummary::key);
  return std::move(*listed);
}

// --- changing it -------------------------------------------------------------------------

void BlobShelf::enter(const BlobFacts& facts, std::int64_t used_ms) {
  held.remove(facts.key);
  held.add(facts.key, HeldBlob::of(facts, used_ms));
  const IndexEntry entry{facts, used_ms};
  index.put(std::span(&entry, 1));
}

// If its name cannot be made to last, the file goes again, and with it the one whose place it took;
// if it does not even go, it is held after all.
int BlobShelf::write(const EncodedBlob& blob, std::int64_t used_ms) {
  const BlobFacts& facts = blob.facts;
  if (const int error = blobs.write(blob); error != 0) return error;
  const int error = blobs.sync_name(facts.key);
  if (error == 0) {
    enter(facts, used_ms);
    return 0;
  }
  held.remove(facts.key);
  index.erase(std::span(&facts.key, 1));
  if (blobs.remove(facts.key) != 0) enter(facts, now_ms_);
  return error;
}

ByteCount BlobShelf::drop(std::span<const BlobKey> keys, ByteCount enough) {
  ByteCount freed = 0;
  std::vector<BlobKey> gone;
  for (const BlobKey& key : keys) {
    if (freed >= enough) break;
    const HeldBlob* const blob = held.find(key);
    if (blob == nullptr) continue;
    if (const int error = blobs.remove(key); error != 0) {
      stats.note_failure(io_error("a blob cannot be removed", error).message);
      continue;
    }
    freed += blob->bytes;
    held.remove(key);
    gone.push_back(key);
  }
  if (!gone.empty()) index.erase(gone);
  stats.dropped += gone.size();
  stats.dropped_bytes += freed;
  return freed;
}

// --- reading, and what fails -------------------------------------------------------------

Result<Blob> BlobShelf::read(const BlobKey& key, Verify verify) {
  auto opened = blobs.open(key);
  if (opened.error == ENOENT) {
    held.remove(key);
    if (writes()) index.erase(std::span(&key, 1));
    return Error{ErrorCode::kNotFound, "the blob is not there any more", {}};
  }
  if (!opened.ok()) {
    Error error = io_error("a blob cannot be opened", opened.error);
    stats.note_failure(error.message);
    return error;
  }
  FileSource source(*opened.value);
  auto blob = read_blob(source, verify);
  if (blob && blob->facts.key != key)
    blob = Error{ErrorCode::kInvalidArgument, "it is another blob than its name says", {}};
  if (blob) return blob;
  const ErrorCode code = blob.error().code;
  if (code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnsupported) {
    put_aside(key, blob.error().message);
  } else {
    stats.note_failure(blob.error().message);
  }
  return blob;
}

// The note is more than there was before; where it has no room, older ones go, and at the worst
// the file itself.
void BlobShelf::put_aside(const BlobKey& key, const std::string& why) {
  ++stats.quarantined;
  stats.last_failure = key.hex().substr(0, 12) + ": " + why;
  if (!writes()) {
    unreadable_.insert(key);
    return;
  }
  const HeldBlob* const blob = held.find(key);
  const ByteCount bytes = blob != nullptr ? blob->bytes : 0;
  if (why.size() + 1 > room()) quarantine.empty();
  move_aside({key, bytes}, why);
  quarantine.survey();
}

void BlobShelf::distrust(SpaceKey space, const std::string& why) {
  for (const BlobSummary& blob : list()) {
    if (blob.space != space) continue;
    ++stats.quarantined;
    if (writes()) {
      move_aside({blob.key, blob.bytes}, why);
    } else {
      unreadable_.insert(blob.key);
    }
  }
  stats.last_failure = why;
  quarantine.survey();
}

// Where it cannot even be moved it stays held, and is no longer offered.
void BlobShelf::move_aside(const BlobFile& blob, const std::string& why) {
  const int error = quarantine.take(blob, why, room());
  if (error != 0) stats.note_failure(io_error("a damaged blob cannot be moved", error).message);
  if (error == 0) held.remove(blob.key);
  index.erase(std::span(&blob.key, 1));
}

// --- check -------------------------------------------------------------------------------

namespace {

void check_files(const std::vector<BlobFile>& files, const HeldBlobs& held,
                 std::vector<std::string>& wrong) {
  for (const BlobFile& file : files) {
    const HeldBlob* const blob = held.find(file.key);
    if (blob == nullptr) wrong.push_back("SHELF-1: " + file.key.hex() + " is not held");
    if (blob != nullptr && blob->bytes != file.bytes)
      wrong.push_back("SHELF-1: " + file.key.hex() + " has another size");
  }
  if (files.size() != held.all().size()) wrong.emplace_back("SHELF-1: a held blob has no file");
}

void check_index(const Result<std::vector<BlobSummary>>& listed, const HeldBlobs& held,
                 std::vector<std::string>& wrong) {
  if (!listed) {
    wrong.push_back("SHELF-2: " + listed.error().message);
    return;
  }
  std::size_t known = 0;
  for (const BlobSummary& summary : *listed) {
    const HeldBlob* const blob = held.find(summary.key);
    if (blob == nullptr) continue;
    ++known;
    if (blob->bytes != summary.bytes || blob->kind != summary.kind)
      wrong.push_back("SHELF-2: " + summary.key.hex() + " is another in the index");
  }
  if (known != held.all().size()) wrong.emplace_back("SHELF-2: the index lacks a held blob");
}

}  // namespace

std::vector<std::string> BlobShelf::check() {
  std::vector<std::string> wrong;
  for (const auto& part : {quarantine.check(), blobs.check(), held.check()}) {
    wrong.insert(wrong.end(), part.begin(), part.end());
  }
  std::uint64_t strangers = 0;
  check_files(blobs.list(strangers), held, wrong);
  check_index(index.list_as_is(), held, wrong);
  return wrong;
}

}  // namespace holdfast::tier
