// BlobShelf: the blobs of a folder, with all that is known of them in agreement.
//
//   blobs        the files                         the truth
//   held         what a writer has of them         in memory
//   index        how they are found by tokens      a convenience
//   quarantine   files that failed a check
//
// Whoever opens a folder for writing compares them (shelf_survey.h), reads the headers of what the
// index lacks, and forgets what is not there. So a crash costs at most what was being written, and
// a lost index the time to read the headers. What fails a check moves to quarantine; a reader,
// which changes nothing, keeps that to itself.
//
// Invariants, verified by check() with those of its parts (of a writer that is alone in its
// folder):
//   SHELF-1  each held blob is a file of the noted size, and each blob's file is held
//   SHELF-2  the index knows each held blob, unless it failed; it may know others, which are not
//            offered
//
// One owning thread. No clock: times come in, in Unix milliseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "tier/blob.h"
#include "tier/blob_files.h"
#include "tier/blob_index.h"
#include "tier/blob_quarantine.h"
#include "tier/blob_store.h"
#include "tier/file_system.h"
#include "tier/held_blobs.h"
#include "tier/store_index.h"
#include "tier/stored_depths.h"

namespace holdfast::tier {

class BlobShelf {
 public:
  StoreStats stats;  // before the parts that count in it
  BlobFiles blobs;
  HeldBlobs held;  // a writer's
  StoreIndex index;
  BlobQuarantine quarantine;

  // `depths` may be null. REQUIRES: `files` outlives it.
  BlobShelf(FileSystem& files, ByteCount budget, double tau_s,
            std::shared_ptr<StoredDepths> depths);

  // Finds out what is there. To be called once, before anything else.
  void open(StoreRole role, const IndexMaker& make_index, std::int64_t now_ms);
  [[nodiscard]] bool writes() const { return role_ == StoreRole::kWriter; }
  // The latest time seen; `now_ms` if it is later.
  std::int64_t see(std::int64_t now_ms) { return now_ms_ = std::max(now_ms_, now_ms); }
  [[nodiscard]] std::int64_t now() const { return now_ms_; }
  // Bytes that may still be added.
  [[nodiscard]] ByteCount room() const;
  // It may be given to those who ask.
  [[nodiscard]] bool is_offered(const BlobKey& key) const;
  // All that are, by key.
  [[nodiscard]] std::vector<BlobSummary> list();

  // --- a writer's ---
  // Whole, synced, under its name and known, or as before. Returns an errno.
  [[nodiscard]] int write(const EncodedBlob& blob, std::int64_t used_ms);
  // It is there, as its header says.
  void enter(const BlobFacts& facts, std::int64_t used_ms);
  // Drops in order until `enough` bytes are free. A file that cannot be removed stays held.
  ByteCount drop(std::span<const BlobKey> keys, ByteCount enough);

  // The whole blob. What is damaged is in quarantine then, and what is not there is forgotten.
  [[nodiscard]] Result<Blob> read(const BlobKey& key, Verify verify);
  // It failed a check: nobody is offered it again.
  void put_aside(const BlobKey& key, const std::string& why);
  // Nothing of this space is offered again.
  void distrust(SpaceKey space, const std::string& why);

  [[nodiscard]] std::vector<std::string> check();

 private:
  void move_aside(const BlobFile& blob, const std::string& why);

  const ByteCount budget_;
  StoreRole role_ = StoreRole::kReader;
  std::int64_t now_ms_ = INT64_MIN;
  std::unordered_set<BlobKey, BlobKeyHash> unreadable_;  // a reader's: failed a check
};

}  // namespace holdfast::tier
