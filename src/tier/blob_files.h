// BlobFiles: the files of blobs in a cache folder.
//
//   tmp/<key>              while it is written
//   blobs/3f/<key>.hfb     whole and synced
//
// A blob's file is written under tmp/, synced and renamed, so it is whole or not there. Its name
// lasts when its folder is synced too.
//
// Invariants, verified by check():
//   FILES-1  between calls there is nothing in tmp/
//
// Failures of the system are an errno, or counted in the statistics where nobody can act on them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "tier/blob.h"
#include "tier/blob_store.h"
#include "tier/file_system.h"

namespace holdfast::tier {

// What a blob's file is named like.
inline constexpr std::string_view kBlobEnding = ".hfb";
// Where a blob lies: "blobs/3f/3fa9...c1.hfb".
[[nodiscard]] std::string blob_path(const BlobKey& key);

struct BlobFile {
  BlobKey key;
  ByteCount bytes = 0;
};

class BlobFiles {
 public:
  // REQUIRES: both outlive it.
  BlobFiles(FileSystem& files, StoreStats& stats) : files_(files), stats_(stats) {}

  // Whole, synced and under its name, or not there. Returns an errno.
  [[nodiscard]] int write(const EncodedBlob& blob);
  // From now on a crash does not take its name away. Returns an errno.
  [[nodiscard]] int sync_name(const BlobKey& key);
  // Returns an errno; ENOENT counts as done.
  [[nodiscard]] int remove(const BlobKey& key);
  [[nodiscard]] Io<std::unique_ptr<OpenFile>> open(const BlobKey& key) const;

  // All blobs, by key; what else lies there is counted as strangers.
  [[nodiscard]] std::vector<BlobFile> list(std::uint64_t& strangers);
  void empty_tmp();
  // Somebody has cleaned up here: folders that were there may be gone.
  void forget_folders() { shards_.clear(); }

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] int make_shard(const std::string& folder);
  void list_shard(const std::string& folder, std::vector<BlobFile>& found,
                  std::uint64_t& strangers);

  FileSystem& files_;
  StoreStats& stats_;
  std::unordered_set<std::string> shards_;  // folders of blobs/ that are there, durably
};

}  // namespace holdfast::tier
