// ShelfSurvey: what a folder holds, found out when it is opened, and when its index is made again.
//
//   the index and a file say the same size    believed, until the blob is read
//   a file that the index lacks               its header is read; what fails goes to quarantine
//   an entry without a file                   forgotten
//
// Invariants, verified by BlobShelf::check() after each open (disk_store_crash_test.cc and
// disk_store_model_test.cc among others):
//   SHELFSURVEY-1  after agree(), SHELF-1 and SHELF-2 hold (blob_shelf.h)
#pragma once

#include <optional>
#include <vector>

#include "tier/blob_files.h"
#include "tier/blob_index.h"

namespace holdfast::tier {

class BlobShelf;

class ShelfSurvey {
 public:
  // REQUIRES: the shelf outlives it.
  explicit ShelfSurvey(BlobShelf& shelf) : shelf_(shelf) {}

  // Makes the index and the shelf agree with the folder. A writer's.
  void agree();
  // Takes in files that the index lacks, by their headers.
  void adopt(const std::vector<BlobFile>& files);
  // For an index that is made again: what the headers say, and what they cannot.
  [[nodiscard]] std::vector<IndexEntry> entries_of_held();

 private:
  [[nodiscard]] std::optional<IndexEntry> read_entry(const BlobFile& file);

  BlobShelf& shelf_;
};

}  // namespace holdfast::tier
