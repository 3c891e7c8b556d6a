// StoreIndex: a store's index, which is a convenience: what it lacks costs time, and its failure
// is noted and never more.
//
//   a full disk   what it could not take is put with the next entries
//   damage        it is made again from the headers of what is held, once
//
// Invariants, verified by disk_store_test.cc and the crash tests, which check SHELF-2:
//   INDEX-1  after a failure that was no damage, the next put brings along what is missing
//   INDEX-2  a damaged index is made again, and never inside of that
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "tier/blob_index.h"
#include "tier/blob_store.h"

namespace holdfast::tier {

class StoreIndex {
 public:
  // Whether an entry is still of use, and all that it should have. Asked by put(), and after
  // damage.
  struct Source {
    std::function<bool(const BlobKey&)> is_wanted;
    std::function<std::vector<IndexEntry>()> read_all;
  };

  // REQUIRES: `stats` outlives it.
  explicit StoreIndex(StoreStats& stats) : stats_(stats) {}
  // False: it is an empty one in memory, for none was wanted or it could not be opened.
  [[nodiscard]] bool open(const IndexMaker& make_index, StoreRole role, Source source);

  // A failure is noted; damage makes it again.
  void put(std::span<const IndexEntry> entries);
  void erase(std::span<const BlobKey> keys);
  void touch(std::span<const BlobKey> keys, std::int64_t now_ms);
  void revalue(std::span<const BlobWorth> worths, std::int64_t now_ms);
  // Asked a second time where the first brought damage to light. An Error: that failed too.
  [[nodiscard]] Result<std::vector<IndexEntry>> along(SpaceKey space,
                                                      std::span<const PathName> anchors);
  [[nodiscard]] Result<std::vector<BlobSummary>> list();
  [[nodiscard]] Result<std::vector<SpaceTotal>> totals();

  // All that it says, as it is: nothing is made again. An Error: it cannot be read.
  [[nodiscard]] Result<std::vector<BlobSummary>> list_as_is() { return index_->list(); }
  // Starts from nothing.
  void clear();
  // The same, in memory where even that fails.
  void start_over();

 private:
  template <typename Question>
  [[nodiscard]] auto ask(const Question& question);
  void note(const Result<void>& outcome);
  void mend(const Error& error);

  StoreStats& stats_;
  StoreRole role_ = StoreRole::kReader;
  Source source_;
  std::unique_ptr<BlobIndex> index_;
  std::vector<IndexEntry> unindexed_;  // it could not take them
  bool mending_ = false;
};

}  // namespace holdfast::tier
