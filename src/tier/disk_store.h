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
// Value. Where room is needed, what is worth least per byte goes first:
//
//     rounded_worth(saves / bytes) / (seconds since it was used + tau)
//
// of what is worth less than the newcomer and was not used at its moment or later; the deeper
// one of two equals, because nothing stands on it. If that is not enough the newcomer is
// declined and nothing has been dropped. The store does not know what stands on what: whoever puts
// a path gives its parts the same value per byte and one moment, so that they go one after the
// other, from the deep end on, and not the places of all paths before the rows of any
// (cache/keep_plan.h).
//
// Invariants, verified by check() (of a writer that is alone in its folder):
//   D1  what is held, quarantine included, is the sum of the files, and within the budget
//   D2  each held blob is a file of the noted size, and each blob's file is held
//   D3  the index knows each held blob, unless it failed; it may know others, which are not
//       offered
//   D4  between calls there is nothing in tmp/
//   D5  `stored_depths` has the end of each held blob whose place is known, and no other; a store
//       that is destroyed takes its own away
//   D6  `ages_` has the bytes of each held blob by what it is worth and when it was used, and no
//       others: room_for() adds up no blobs
//
// One owning thread. No clock: times come in, in Unix milliseconds; one that is earlier than
// the latest seen counts as that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "tier/age_sums.h"
#include "tier/blob.h"
#include "tier/blob_index.h"
#include "tier/blob_store.h"
#include "tier/file_system.h"
#include "tier/space_note.h"
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

struct VerifyReport {
  std::uint64_t checked = 0;
  ByteCount checked_bytes = 0;
  std::uint64_t damaged = 0;     // now in quarantine; a reader leaves them
  std::uint64_t unreadable = 0;  // the system failed
  std::uint64_t unknown = 0;     // were not in the index
  std::uint64_t missing = 0;     // were only in the index
  std::uint64_t strangers = 0;   // files in blobs/ that are none; left alone
  bool stopped = false;
  struct Failure {
    BlobKey key;
    std::string why;
  };
  std::vector<Failure> failures;  // of damaged and unreadable ones, the first kFailuresMax
  static constexpr std::size_t kFailuresMax = 100;
};
// Told of the bytes done and to do; false stops.
using VerifyProgress = std::function<bool(ByteCount, ByteCount)>;

class DiskStore final : public BlobStore {
 public:
  // kUnsupported: the folder is not ours, or of another version; it was not touched.
  // kNotFound: a reader was wanted and there is no cache yet.
  // REQUIRES: `files` outlives the store.
  [[nodiscard]] static Result<std::unique_ptr<DiskStore>> open(FileSystem& files,
                                                               DiskOptions options,
                                                               std::int64_t now_ms);
  ~DiskStore();
  DiskStore(const DiskStore&) = delete;
  DiskStore& operator=(const DiskStore&) = delete;

  [[nodiscard]] StoreRole role() const override { return role_; }
  [[nodiscard]] ByteCount budget() const override { return options_.budget; }
  [[nodiscard]] const StoreStats& stats() const override { return stats_; }

  // -- as BlobStore promises; what fails a check is in quarantine then --
  [[nodiscard]] Moment moment(std::int64_t now_ms) override;
  [[nodiscard]] Result<PutAnswer> put(const RowsBlob& blob, Moment moment) override;
  [[nodiscard]] Result<PutAnswer> put(const PlaceBlob& blob, Moment moment) override;
  [[nodiscard]] ByteCount room_for(double saves_per_byte, Moment moment) const override;
  [[nodiscard]] bool holds(const BlobFacts& facts) const override;
  [[nodiscard]] StoreMatch lookup(SpaceKey space, TokenSpan tokens) override;
  [[nodiscard]] Result<RowsBlob> load(const StoreMatch& match, const RowsHit& hit) override;
  [[nodiscard]] Result<PlaceBlob> load(const StoreMatch& match, const PlaceHit& hit) override;
  void distrust(SpaceKey space, const std::string& why) override;
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
  // What its header says, even if its content is damaged. Changes nothing. Errors as of load().
  [[nodiscard]] Result<BlobFacts> facts_of(const BlobKey& key);
  // Returns the bytes freed; what is not there frees none.
  ByteCount remove(std::span<const BlobKey> keys);
  // Removes what is in quarantine. Returns the bytes freed.
  ByteCount discard_quarantine();

  [[nodiscard]] std::vector<BlobSummary> list();
  // What each space has, by space: as the index says, without a look at each blob.
  [[nodiscard]] std::vector<SpaceTotal> space_totals();
  // Where these stand, their tokens included. REQUIRES: all of one space, from list().
  [[nodiscard]] std::vector<BlobPath> paths_of(std::span<const BlobSummary> blobs);

  // --- notes on spaces, for people (disk_store_spaces.cc) ---
  // Durable when it is answered; what is there already costs nothing from the second call on.
  // Beyond kNotesMax notes it writes none, and a reader never does. Call it when something of the
  // space is put: a note of a space without blobs is the first to go.
  [[nodiscard]] Result<void> describe_space(SpaceKey space, const SpaceNote& note);
  // Those that can be read. A failure is counted.
  [[nodiscard]] std::map<SpaceKey, SpaceNote> space_notes();
  // Removes notes of spaces without blobs, and what is no note. Returns how many.
  std::uint64_t tidy_space_notes();
  static constexpr std::size_t kNotesMax = 1024;

  // Reads and verifies every blob, and makes the index agree with what is there; with
  // `rebuild` it starts from an empty one. A reader changes nothing.
  enum class Rebuild { kNo, kYes };
  VerifyReport verify(const VerifyProgress& progress, Rebuild rebuild = Rebuild::kNo);

  // Violations of D1..D6; empty when they hold.
  [[nodiscard]] std::vector<std::string> check();

 private:
  struct KeyHash {
    std::size_t operator()(const BlobKey& key) const;
  };
  // What is known of a file in blobs/.
  struct Held {
    BlobKind kind = BlobKind::kRows;
    ByteCount bytes = 0;
    std::uint64_t saves = 0;
    std::int64_t used_ms = 0;
    PathName anchor;
    TokenPos end = 0;  // 0: its header could not be read, so its place is not known
    bool companion = false;
    bool logits = false;
  };
  using HeldMap = std::unordered_map<BlobKey, Held, KeyHash>;
  struct BlobFile {
    BlobKey key;
    ByteCount bytes = 0;
  };

  DiskStore(FileSystem& files, DiskOptions options) : files_(files), options_(std::move(options)) {}

  // --- opening (disk_store_open.cc) ---
  enum class Folder { kOurs, kNew };
  [[nodiscard]] Result<Folder> inspect();
  [[nodiscard]] Result<void> take_role(Folder folder);
  [[nodiscard]] Result<void> prepare_folder(Folder folder);
  [[nodiscard]] Result<void> write_format();
  void mend_folder();
  void open_index();
  void empty_tmp();
  [[nodiscard]] std::vector<BlobFile> list_files(std::uint64_t& strangers);
  void survey();
  [[nodiscard]] HeldMap held_by_index();
  void adopt(const std::vector<BlobFile>& files);
  [[nodiscard]] std::optional<IndexEntry> read_entry(const BlobFile& file);
  void survey_quarantine();

  // --- writing ---
  template <typename AnyBlob>
  [[nodiscard]] Result<PutAnswer> put_any(const AnyBlob& blob, Moment moment);
  [[nodiscard]] std::optional<PutAnswer> answer_unread(const BlobFacts& facts, Moment moment);
  void enter(const BlobFacts& facts, std::int64_t used_ms);
  [[nodiscard]] bool is_improvement(const Held& held, const BlobFacts& facts) const;
  [[nodiscard]] int write_blob(const EncodedBlob& blob);
  [[nodiscard]] int make_shard(const std::string& folder);
  [[nodiscard]] int settle_blob(const BlobFacts& facts, const std::string& folder);
  [[nodiscard]] bool make_room(ByteCount bytes, double worth, Moment moment);
  [[nodiscard]] static double worth_of(const Held& held);
  [[nodiscard]] double value_of(double worth, std::int64_t used_ms) const;
  [[nodiscard]] double value_of(const Held& held) const;
  [[nodiscard]] ByteCount bytes_below(double value, Moment moment) const;
  void add_age(const Held& held);
  void remove_age(const Held& held);
  void set_used(Held& held, std::int64_t used_ms, std::uint64_t saves);
  [[nodiscard]] std::vector<BlobKey> cheapest_below(double worth) const;
  void use(const BlobKey& key, std::int64_t used_ms);
  ByteCount drop(std::span<const BlobKey> keys, ByteCount enough);
  void hold(const BlobFacts& facts, std::int64_t used_ms);
  void hold_as(const BlobKey& key, const Held& held);
  [[nodiscard]] StoredDepths* ends_with(const Held& held) const;
  void forget(const BlobKey& key);
  void empty_quarantine();
  void quarantine(const BlobKey& key, const std::string& why);
  void keep_in_quarantine(const BlobKey& key, ByteCount bytes, const std::string& why);
  void set_aside(const BlobKey& key, ByteCount bytes, const std::string& why);

  // --- reading ---
  [[nodiscard]] Result<Blob> read(const BlobKey& key, Verify verify);
  void sort_in(StoreMatch& match, const std::vector<IndexEntry>& entries) const;
  [[nodiscard]] Result<Blob> load_for(const StoreMatch& match, const BlobKey& key, TokenPos end);

  void verify_file(const BlobFile& file, VerifyReport& report, std::vector<IndexEntry>& entries);
  void settle_verified(const std::vector<IndexEntry>& entries, const std::vector<BlobKey>& gone,
                       Rebuild rebuild);

  // --- the index: a failure is noted; damage rebuilds it ---
  void index_put(std::span<const IndexEntry> entries);
  void index_erase(std::span<const BlobKey> keys);
  void mend_index(const Error& error);
  void rebuild_index();

  void see(std::int64_t now_ms) { now_ms_ = std::max(now_ms_, now_ms); }
  void note_failure(std::string what);
  [[nodiscard]] bool writes() const { return role_ == StoreRole::kWriter; }
  [[nodiscard]] ByteCount room() const;
  [[nodiscard]] Result<void> write_note(SpaceKey space, const SpaceNote& note);
  [[nodiscard]] std::vector<FolderEntry> list_notes();
  void check_files(std::vector<std::string>& wrong);
  void check_index(std::vector<std::string>& wrong);
  void check_ends(std::vector<std::string>& wrong) const;
  void check_ages(std::vector<std::string>& wrong) const;

  FileSystem& files_;
  const DiskOptions options_;
  StoreRole role_ = StoreRole::kReader;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<BlobIndex> index_;
  HeldMap held_;                                     // a writer's
  std::map<double, AgeSums> ages_;                   // of what is held, by rounded_worth()
  std::unordered_set<BlobKey, KeyHash> unreadable_;  // a reader's: failed a check
  std::unordered_set<std::string> shards_;           // folders of blobs/ that are there, durably
  std::int64_t now_ms_ = INT64_MIN;
  std::vector<IndexEntry> unindexed_;  // the index could not take them
  bool mending_ = false;
  std::map<SpaceKey, SpaceNote> described_;  // notes that are there, as of our last look
  StoreStats stats_;
};

// Where a blob lies: "blobs/3f/3fa9...c1.hfb".
[[nodiscard]] std::string blob_path(const BlobKey& key);

}  // namespace holdfast::tier
