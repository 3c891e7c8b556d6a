// How `holdfast cache` shows what a folder holds: pure functions, as text for people and as JSON
// for programs.
//
// Texts from the folder (notes on spaces, reasons) are not ours: in text they come without
// control characters and in one line, in JSON everything beyond ASCII is escaped. So neither
// drives a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cache_text.h"
#include "tier/blob_transfer.h"
#include "tier/disk_store.h"
#include "tier/path_count.h"

namespace holdfast::cli {

// cache_listing_view.cc: all of it.
struct SpaceRow {
  SpaceKey space;
  std::optional<tier::SpaceNote> note;
  std::uint64_t blobs = 0;
  ByteCount bytes = 0;
  tier::PathCount paths;
  std::int64_t used_ms = 0;  // the latest
};

struct CacheListing {
  std::string folder;
  std::vector<SpaceRow> spaces;  // the latest used first
  std::uint64_t quarantine_files = 0;
  ByteCount quarantine_bytes = 0;
};
// Reads the index and the notes.
[[nodiscard]] CacheListing survey_cache(tier::DiskStore& store, std::string folder);

[[nodiscard]] std::string listing_text(const CacheListing& listing, std::int64_t now_ms);
[[nodiscard]] std::string listing_json(const CacheListing& listing);

// cache_blob_view.cc: one blob, and how it was found.
struct BlobDetails {
  tier::BlobFacts facts;
  std::optional<tier::SpaceNote> note;
  std::optional<std::int64_t> used_ms;
  std::string damage;  // empty: every part and the payload's digest are right
  // Of an intact one.
  std::uint64_t blocks = 0;
  ByteCount rows_bytes = 0, snapshot_bytes = 0, companion_bytes = 0, logits_bytes = 0;
};
[[nodiscard]] BlobDetails details_of(const tier::Blob& blob);
[[nodiscard]] std::string details_text(const BlobDetails& details, std::int64_t now_ms);
[[nodiscard]] std::string details_json(const BlobDetails& details);

// cache_report_view.cc: what a check or an import has found.
// `read_only`: another process has the folder, and damaged blobs were left where they are.
[[nodiscard]] std::string verify_text(const tier::VerifyReport& report, bool read_only);
[[nodiscard]] std::string verify_json(const tier::VerifyReport& report);

[[nodiscard]] std::string import_text(const tier::ImportReport& report);
[[nodiscard]] std::string import_json(const tier::ImportReport& report);

}  // namespace holdfast::cli
