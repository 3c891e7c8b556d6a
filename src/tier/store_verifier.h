// StoreVerifier reads and verifies every blob of a folder, and makes the index agree with what is
// there. Of a reader's folder nothing is changed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tier/blob.h"
#include "tier/blob_shelf.h"

namespace holdfast::tier {

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

// Whether the index is made again from nothing.
enum class Rebuild { kNo, kYes };

class StoreVerifier {
 public:
  explicit StoreVerifier(BlobShelf& shelf) : shelf_(shelf) {}

  VerifyReport run(const VerifyProgress& progress, Rebuild rebuild);

 private:
  void verify_file(const BlobFile& file, VerifyReport& report, std::vector<IndexEntry>& entries);
  // What was verified is held and indexed as it is.
  void settle(const std::vector<IndexEntry>& entries, const std::vector<BlobKey>& gone,
              Rebuild rebuild);

  BlobShelf& shelf_;
};

}  // namespace holdfast::tier
