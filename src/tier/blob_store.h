// BlobStore: a tier below memory, as memory sees it. It answers, declines or fails, and
// none of that is more than a miss (H7).
//
//   lookup  what lies along a prompt
//   load    a part of that, verified
//   put     a part of a path, under the store's own budget
//
// The one that there is keeps a folder (disk_store.h). Another one, on another machine, would
// stand beside it.
//
// One owning thread; every call may block (cache/disk_tier.h has a thread for that). No clock:
// times come in, in Unix milliseconds.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "state/path_end.h"
#include "tier/blob.h"
#include "tier/blob_index.h"

namespace holdfast::tier {

// When something is put or used. What belongs together has one moment, however long putting it
// takes: none of it makes way for the rest, and it all grows old together.
struct Moment {
  std::int64_t ms = 0;
};

// Tokens saved per byte, as stores compare them: in steps of a fifth. What saves about as much is
// told apart by when it was used, and no part of a path goes before another of the same path or of
// an older one because a fraction of a token was rounded away.
[[nodiscard]] inline double rounded_worth(double saves_per_byte) {
  constexpr double kStepsInTwo = 4.0;
  if (!(saves_per_byte > 0.0)) return 0.0;
  return std::exp2(std::round(kStepsInTwo * std::log2(saves_per_byte)) / kStepsInTwo);
}

enum class PutAnswer {
  kStored,
  kPresent,   // it was there already; counts as used
  kDeclined,  // no room, or a reader
};

// A place along a prompt.
struct PlaceHit {
  BlobKey key;
  TokenPos position = 0;
  ByteCount bytes = 0;
  std::uint64_t saves = 0;
  Hints marks;
  bool logits = false;
};

// Rows along a prompt: what of a blob's range agrees with it.
struct RowsHit {
  BlobKey key;
  TokenRange range;
  ByteCount bytes = 0;  // of the whole blob
  std::uint64_t saves = 0;
  bool whole = true;  // all of the blob agrees
};

// What lies along one prompt.
struct StoreMatch {
  SpaceKey space;
  Tokens tokens;                  // the prompt
  std::vector<PathName> anchors;  // its names
  std::vector<PlaceHit> places;   // ascending
  // The fewest blobs that cover [0, covered), ascending; neighbours may overlap.
  std::vector<RowsHit> rows;
  TokenPos covered = 0;
};

struct StoreStats {
  std::uint64_t rows_blobs = 0, place_blobs = 0;
  ByteCount rows_bytes = 0, place_bytes = 0;
  std::uint64_t quarantine_files = 0;
  ByteCount quarantine_bytes = 0;
  // Since it was opened.
  std::uint64_t stored = 0, declined = 0, dropped = 0, loaded = 0;
  ByteCount stored_bytes = 0, dropped_bytes = 0, loaded_bytes = 0;
  std::uint64_t quarantined = 0;  // failed a check
  std::uint64_t failed = 0;       // calls that the system answered with an error
  std::uint64_t index_rebuilds = 0;
  std::string last_failure;  // the latest of either, one line
  bool full = false;         // the latest put was declined because the volume has no room

  void note_failure(std::string what) {
    ++failed;
    last_failure = std::move(what);
  }
  [[nodiscard]] std::uint64_t blobs() const { return rows_blobs + place_blobs; }
  [[nodiscard]] ByteCount bytes() const { return rows_bytes + place_bytes + quarantine_bytes; }
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // A reader declines every put.
  [[nodiscard]] virtual StoreRole role() const = 0;
  [[nodiscard]] virtual ByteCount budget() const = 0;
  [[nodiscard]] virtual const StoreStats& stats() const = 0;

  // Now, or the latest time that the store knows of: a clock that was put back makes nothing that
  // is put from then on old.
  [[nodiscard]] virtual Moment moment(std::int64_t now_ms) = 0;

  // Durable when it is answered with kStored. An Error: the blob is not valid, or the system
  // failed; nothing was stored. A richer blob of the same key takes the other's place.
  [[nodiscard]] virtual Result<PutAnswer> put(const RowsBlob& blob, Moment moment) = 0;
  [[nodiscard]] virtual Result<PutAnswer> put(const PlaceBlob& blob, Moment moment) = 0;

  // This many bytes at most could be put at this moment, all together, if each byte saves this many
  // tokens: what is free, and what would make way.
  [[nodiscard]] virtual ByteCount room_for(double saves_per_byte, Moment moment) const = 0;

  // Whether a blob of this key, with all of these parts, is there. No I/O.
  [[nodiscard]] virtual bool holds(const BlobFacts& facts) const = 0;

  // Everything along these tokens. A failure is a match of nothing, and counted.
  [[nodiscard]] virtual StoreMatch lookup(SpaceKey space, TokenSpan tokens) = 0;

  // Exactly what the lookup promised, verified. kNotFound: it is not there any more;
  // kInvalidArgument, kUnsupported: it was damaged, and is out of the way now; else the
  // system failed.
  [[nodiscard]] virtual Result<RowsBlob> load(const StoreMatch& match, const RowsHit& hit) = 0;
  [[nodiscard]] virtual Result<PlaceBlob> load(const StoreMatch& match, const PlaceHit& hit) = 0;

  // What is held of this space is wrong although its checksums are right. None of it is offered
  // again.
  virtual void distrust(SpaceKey space, const std::string& why) = 0;

  // Drops what is held of this space. False: nothing of it stays.
  [[nodiscard]] virtual bool drop_space(SpaceKey space) = 0;
  // Drops what a conversation has for itself; what other paths need stays. A reader drops nothing.
  virtual void drop_end(const PathEnd& end) = 0;

  // They were useful now.
  virtual void touch(std::span<const BlobKey> keys, std::int64_t now_ms) = 0;
  // They are part of what is put at this moment, and worth this much from now on.
  virtual void revalue(std::span<const BlobWorth> worths, Moment moment) = 0;
  // Drops the least valuable until no more than `bytes` are held. Returns the bytes freed.
  virtual ByteCount shrink_to(ByteCount bytes, std::int64_t now_ms) = 0;
};

}  // namespace holdfast::tier
