// BlobIndex: what the headers of the blobs say, for quick lookup.
//
// Never the truth: everything in it is in the blobs, and they are verified when they are
// read. An index that is lost, damaged or behind costs time to rebuild, and nothing else.
//
// Errors: kInvalidArgument - the index itself is damaged and wants clear(); others - the
// world failed, and the change was not made, or not durably.
//
// One owning thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "tier/blob.h"

namespace holdfast::tier {

// What a blob is worth from now on.
struct BlobWorth {
  BlobKey key;
  std::uint64_t saves = 0;  // as BlobFacts::saves
};

struct IndexEntry {
  BlobFacts facts;
  std::int64_t used_ms = 0;  // last put or touched
};

// What an entry says without its tokens: enough to choose what is dropped.
struct BlobSummary {
  BlobKey key;
  BlobKind kind = BlobKind::kRows;
  SpaceKey space;
  PathName anchor;
  TokenRange range;
  ByteCount bytes = 0;
  bool companion = false;
  bool logits = false;
  Hints marks;
  std::uint64_t saves = 0;
  std::int64_t created_ms = 0;
  std::int64_t used_ms = 0;
};
[[nodiscard]] BlobSummary summary_of(const IndexEntry& entry);

// What one space has, all blobs together.
struct SpaceTotal {
  SpaceKey space;
  std::uint64_t blobs = 0;
  ByteCount bytes = 0;
  bool operator==(const SpaceTotal&) const = default;
};

class BlobIndex {
 public:
  virtual ~BlobIndex() = default;
  // Takes the place of entries of the same keys. All or none.
  [[nodiscard]] virtual Result<void> put(std::span<const IndexEntry> entries) = 0;
  [[nodiscard]] virtual Result<void> erase(std::span<const BlobKey> keys) = 0;
  [[nodiscard]] virtual Result<void> touch(std::span<const BlobKey> keys, std::int64_t now_ms) = 0;
  // Used now, and worth this much from now on.
  [[nodiscard]] virtual Result<void> revalue(std::span<const BlobWorth> worths,
                                             std::int64_t now_ms) = 0;
  // All that stand at one of these anchors, in no order.
  [[nodiscard]] virtual Result<std::vector<IndexEntry>> along(
      SpaceKey space, std::span<const PathName> anchors) = 0;
  [[nodiscard]] virtual Result<std::vector<BlobSummary>> list() = 0;
  // The same, added up; in no order.
  [[nodiscard]] virtual Result<std::vector<SpaceTotal>> totals() = 0;
  // Starts from nothing, whatever state it is in.
  [[nodiscard]] virtual Result<void> clear() = 0;
};

enum class StoreRole { kWriter, kReader };
using IndexMaker = std::function<Result<std::unique_ptr<BlobIndex>>(StoreRole)>;

}  // namespace holdfast::tier
