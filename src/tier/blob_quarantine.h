// BlobQuarantine: files that failed a check, each with a note that says why.
//
//   quarantine/<key>.hfb    what it was
//   quarantine/<key>.why    one line
//
// They count as held, and are the first to go where room is needed.
//
// Invariants, verified by check():
//   ASIDE-1  the statistics' files and bytes of the quarantine are those of the folder
#pragma once

#include <string>
#include <vector>

#include "tier/blob_files.h"
#include "tier/blob_store.h"
#include "tier/file_system.h"

namespace holdfast::tier {

class BlobQuarantine {
 public:
  // REQUIRES: both outlive it.
  BlobQuarantine(FileSystem& files, StoreStats& stats) : files_(files), stats_(stats) {}

  // Counts what is there.
  void survey();
  void empty();
  // Moves a blob's file here, with a note, if both have room within `room` beside it; else the
  // file is removed. Returns an errno; then it is where it was. survey() is the caller's.
  [[nodiscard]] int take(const BlobFile& blob, const std::string& why, ByteCount room);

  [[nodiscard]] std::vector<std::string> check();

 private:
  FileSystem& files_;
  StoreStats& stats_;
};

}  // namespace holdfast::tier
