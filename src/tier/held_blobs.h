// HeldBlobs: what a writer's folder holds, in memory: how large each blob is, what it is worth
// and where it ends.
//
// What is worth least per byte goes first where room is needed:
//
//     rounded_worth(saves / bytes) / (seconds since it was used + tau)
//
// the deeper one of two equals, because nothing stands on it.
//
// Invariants, verified by check():
//   BLOBS-1  the statistics' blobs and bytes are those of what is held
//   BLOBS-2  `stored_depths` has the end of each held blob whose place is known, and no other; when
//            this is destroyed it takes its own away
//   BLOBS-3  the sums by age have the bytes of each held blob by what it is worth and when it was
//            used, and no others: bytes_below() adds up no blobs
//
// One owning thread. No clock: now comes in, in Unix milliseconds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tier/age_sums.h"
#include "tier/blob.h"
#include "tier/blob_index.h"
#include "tier/blob_store.h"
#include "tier/stored_depths.h"

namespace holdfast::tier {

struct BlobKeyHash {
  std::size_t operator()(const BlobKey& key) const;
};

// What is known of a file in blobs/.
struct HeldBlob {
  BlobKind kind = BlobKind::kRows;
  ByteCount bytes = 0;
  std::uint64_t saves = 0;
  std::int64_t used_ms = 0;
  PathName anchor;
  TokenPos end = 0;  // 0: its header could not be read, so its place is not known
  bool companion = false;
  bool logits = false;

  [[nodiscard]] static HeldBlob of(const BlobFacts& facts, std::int64_t used_ms);
  [[nodiscard]] static HeldBlob of(const BlobSummary& summary, std::int64_t used_ms);
  // More of the same state, and nothing less.
  [[nodiscard]] bool is_improved_by(const BlobFacts& facts) const;
};

class HeldBlobs {
 public:
  using Map = std::unordered_map<BlobKey, HeldBlob, BlobKeyHash>;

  // `depths` may be null. REQUIRES: `stats` outlives it.
  HeldBlobs(StoreStats& stats, std::shared_ptr<StoredDepths> depths, double tau_s)
      : stats_(stats), depths_(std::move(depths)), tau_s_(tau_s) {}
  ~HeldBlobs();
  HeldBlobs(const HeldBlobs&) = delete;
  HeldBlobs& operator=(const HeldBlobs&) = delete;

  [[nodiscard]] const Map& all() const { return held_; }
  [[nodiscard]] bool contains(const BlobKey& key) const { return held_.contains(key); }
  [[nodiscard]] const HeldBlob* find(const BlobKey& key) const;  // null: it is not held

  // REQUIRES: it is not held.
  void add(const BlobKey& key, const HeldBlob& blob);
  void remove(const BlobKey& key);
  // REQUIRES: it is held.
  void set_used(const BlobKey& key, std::int64_t used_ms, std::uint64_t saves);

  [[nodiscard]] double value_of(const HeldBlob& blob, std::int64_t now_ms) const;
  [[nodiscard]] double value_of(double worth, std::int64_t used_ms, std::int64_t now_ms) const;
  // What would make way for something of this value that is put at this moment.
  [[nodiscard]] ByteCount bytes_below(double value, Moment moment, std::int64_t now_ms) const;
  // In the order in which they would be dropped.
  [[nodiscard]] std::vector<BlobKey> cheapest_below(double value, std::int64_t now_ms) const;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  void add_age(const HeldBlob& blob);
  void remove_age(const HeldBlob& blob);
  // Those that are told of this blob; null: nobody.
  [[nodiscard]] StoredDepths* told_of(const HeldBlob& blob) const;
  void check_depths(std::vector<std::string>& wrong) const;
  void check_ages(std::vector<std::string>& wrong) const;

  StoreStats& stats_;
  const std::shared_ptr<StoredDepths> depths_;
  const double tau_s_;  // age at which a blob has lost half of its value
  Map held_;
  std::map<double, AgeSums> ages_;  // of what is held, by rounded_worth()
};

}  // namespace holdfast::tier
