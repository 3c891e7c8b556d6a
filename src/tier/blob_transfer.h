// All blobs of a folder, or of some spaces, into one file and back.
//
// Never more memory than one blob. What is imported is verified whole, encoded again and put as
// any other blob: under the budget, against what is there. A blob that fails is left out, and
// counted; the rest of the file is read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "tier/blob_archive.h"
#include "tier/disk_store.h"

namespace holdfast::tier {

// Told of the bytes done and to do.
using TransferProgress = std::function<void(ByteCount, ByteCount)>;

struct ExportReport {
  std::uint64_t written = 0;
  std::uint64_t left_out = 0;  // failed a check, or went away meanwhile
  ByteCount bytes = 0;         // of the file
  std::string why;             // one was left out
};

// `space`: only this one. The file is whole when this is answered without an Error.
[[nodiscard]] Result<ExportReport> export_blobs(DiskStore& store, OpenFile& file,
                                                std::optional<SpaceKey> space,
                                                const TransferProgress& progress = {});

struct ImportReport {
  std::uint64_t read = 0;  // blobs in the file, as far as it could be read
  std::optional<std::uint64_t> announced;
  std::uint64_t stored = 0, present = 0;
  std::uint64_t declined = 0;  // no room for them
  std::uint64_t refused = 0;   // failed a check
  std::uint64_t failed = 0;    // the folder could not take them
  ByteCount stored_bytes = 0;
  std::string why;    // of the latest one refused or failed
  std::string ended;  // why the file could not be read to its end; empty: it could

  [[nodiscard]] bool whole() const { return ended.empty() && refused == 0 && failed == 0; }
};

// An Error: this is no file of blobs at all, and nothing was changed.
// REQUIRES: the store writes.
[[nodiscard]] Result<ImportReport> import_blobs(DiskStore& store, ByteSource& source,
                                                std::int64_t now_ms,
                                                const TransferProgress& progress = {});

}  // namespace holdfast::tier
