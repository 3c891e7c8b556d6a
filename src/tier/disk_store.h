// DiskStore: blobs in a cache folder, found by their tokens, under one byte budget.
//
//   put     encode -> make room -> tmp/ -> sync -> blobs/3f/ -> sync -> index
//   lookup  anchors of the prompt -> index -> what lies along its tokens
//   load    one file, verified while it is read, and that it is what the lookup promised
//
// The folder is described in docs/formats/cache-folder.md. What it holds is the truth and the
// index a convenience: whoever opens a folder for writing compares the two, reads the headers
// of what the index lacks, and forgets what is not there. So a crash costs at most what was
// being written, and a lost index the time to read the headers.
//
// Nothing that happens to the folder is more than a miss (H7): a file that fails a check moves
// to quarantine/ with a note, a full disk declines, an Error leaves the store as it was. The
// exception is open() itself, which refuses a folder that is not ours.
//
// Of two processes the first writes; others are readers, which look up, load and change
// nothing.
//
// Where room is needed, what is worth least per byte goes first (held_blobs.h), of what is worth
// less than the newcomer and was not used at its moment or later. If that is not enough the
// newcomer is declined and nothing has been dropped. The store does not know what stands on what:
// whoever puts a path gives its parts the same value per byte and one moment, so that they go one
// after the other, from the deep end on, and not the places of all paths before the rows of any
// (cache/keep_plan.h).
//
// What is held, and that files, memory and index agree about it, is BlobShelf's.
//
// Invariants, verified by check() with the shelf's (of a writer that is alone in its folder):
//   STORE-1  what is held, quarantine included, is within the budget
//
// One owning thread. No clock: times come in, in Unix milliseconds; one that is earlier than
// the latest seen counts as that.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tier/blob.h"
#include "tier/blob_files.h"
#include "tier/blob_index.h"
#include "tier/blob_shelf.h"
#include "tier/blob_store.h"
#include "tier/file_system.h"
#include "tier/space_note.h"
#include "tier/space_notes.h"
#include "tier/store_inventory.h"
#include "tier/store_verifier.h"
#include "tier/stored_depths.h"

namespace holdfast::tier {

struct DiskOptions {
  ByteCount budget = 0;                 // of all files in blobs/ and quarantine/
  ByteCount free_min = 0;               // of the volume, never taken
  StoreRole role = StoreRole::kWriter;  // wanted; see role()
  double tau_s = 600;                   // age at which a blob has lost half of its value
  IndexMaker make_index;                // none: in memory
  // Kept up to date by a writer, from open() on; may be null. A reader leaves it alone, because
  // it does not see what the writer adds.
  std::shared_ptr<StoredDepths> stored_depths = nullptr;
};

class DiskStore final : public BlobStore {
 public:
  // kUnsupported: the folder is not ours, or of another version; it was not touched.
  // kNotFound: a reader was wanted and there is no cache yet.
  // REQUIRES: `files` outlives the store.
  [[nodiscard]] static Result<std::unique_ptr<DiskStore>> open(FileSystem& files,
                                                               DiskOptions options,
                                                               std::int64_t now_ms);
  DiskStore(const DiskStore&) = delete;
  DiskStore& operator=(const DiskStore&) = delete;

  [[nodiscard]] StoreRole role() const override {
    return writes() ? StoreRole::kWriter : StoreRole::kReader;
  }
  [[nodiscard]] ByteCount budget() const override { return options_.budget; }
  [[nodiscard]] const StoreStats& stats() const override { return shelf_.stats; }

  // -- as BlobStore promises; what fails a check is in quarantine then --
  [[nodiscard]] Moment moment(std::int64_t now_ms) override;
  [[nodiscard]] Result<PutAnswer> put(const RowsBlob& blob, Moment moment) override;
  [[nodiscard]] Result<PutAnswer> put(const PlaceBlob& blob, Moment moment) override;
  [[nodiscard]] ByteCount room_for(double saves_per_byte, Moment moment) const override;
  [[nodiscard]] bool holds(const BlobFacts& facts) const override;
  [[nodiscard]] StoreMatch lookup(SpaceKey space, TokenSpan tokens) override;
  [[nodiscard]] Result<RowsBlob> load(const StoreMatch& match, const RowsHit& hit) override;
  [[nodiscard]] Result<PlaceBlob> load(const StoreMatch& match, const PlaceHit& hit) override;
  void distrust(SpaceKey space, const std::string& why) override { shelf_.distrust(space, why); }
  [[nodiscard]] bool drop_space(SpaceKey space) override;
  void drop_end(const PathEnd& end) override;
  void touch(std::span<const BlobKey> keys, std::int64_t now_ms) override;
  void revalue(std::span<const BlobWorth> worths, Moment moment) override;
  ByteCount shrink_to(ByteCount bytes, std::int64_t now_ms) override;

  // -- for those who look after a folder --
  // One blob that belongs to no other.
  template <typename AnyBlob>
  [[nodiscard]] Result<PutAnswer> put(const AnyBlob& blob, std::int64_t now_ms) {
    return put(blob, moment(now_ms));
  }
  [[nodiscard]] Result<PutAnswer> put(const Blob& blob, Moment moment);
  // A blob by its name.
  [[nodiscard]] Result<Blob> load(const BlobKey& key, Verify verify = Verify::kParts);
  // Returns the bytes freed; what is not there frees none.
  ByteCount remove(std::span<const BlobKey> keys);
  // Removes what is in quarantine. Returns the bytes freed.
  ByteCount discard_quarantine();

  [[nodiscard]] StoreInventory inventory() { return StoreInventory(shelf_); }

  // --- notes on spaces, for people (space_notes.h) ---
  // Durable when it is answered; what is there already costs nothing from the second call on.
  // Beyond SpaceNotes::kNotesMax notes it writes none, and a reader never does. Call it when
  // something of the space is put: a note of a space without blobs is the first to go.
  [[nodiscard]] Result<void> describe_space(SpaceKey space, const SpaceNote& note);
  // Those that can be read. A failure is counted.
  [[nodiscard]] std::map<SpaceKey, SpaceNote> space_notes() { return notes_.all(); }
  // Removes notes of spaces without blobs, and what is no note. Returns how many.
  std::uint64_t tidy_space_notes();

  // Reads and verifies every blob, and makes the index agree with what is there; with
  // `rebuild` it starts from an empty one. A reader changes nothing.
  VerifyReport verify(const VerifyProgress& progress, Rebuild rebuild = Rebuild::kNo);

  // Violations of the above, and of its parts' own; empty when they hold.
  [[nodiscard]] std::vector<std::string> check();

 private:
  DiskStore(FileSystem& files, DiskOptions options);

  template <typename AnyBlob>
  [[nodiscard]] Result<PutAnswer> put_any(const AnyBlob& blob, Moment moment);
  [[nodiscard]] std::optional<PutAnswer> answer_unread(const BlobFacts& facts, Moment moment);
  [[nodiscard]] bool make_room(ByteCount bytes, double value, Moment moment);
  void use(const BlobKey& key, std::int64_t used_ms);
  [[nodiscard]] Result<Blob> load_for(const StoreMatch& match, const BlobKey& key, TokenPos end);
  [[nodiscard]] bool writes() const { return shelf_.writes(); }

  FileSystem& files_;
  const DiskOptions options_;
  std::unique_ptr<FileLock> lock_;  // a writer's
  BlobShelf shelf_;
  SpaceNotes notes_;
};

}  // namespace holdfast::tier
