// MemoryIndex: the index without a file. Used where no file can be had, and in tests.
#pragma once

#include <map>
#include <utility>

#include "tier/blob_index.h"

namespace holdfast::tier {

class MemoryIndex final : public BlobIndex {
 public:
  [[nodiscard]] Result<void> put(std::span<const IndexEntry> entries) override;
  [[nodiscard]] Result<void> erase(std::span<const BlobKey> keys) override;
  [[nodiscard]] Result<void> touch(std::span<const BlobKey> keys, std::int64_t now_ms) override;
  [[nodiscard]] Result<void> revalue(std::span<const BlobWorth> worths,
                                     std::int64_t now_ms) override;
  [[nodiscard]] Result<std::vector<IndexEntry>> along(SpaceKey space,
                                                      std::span<const PathName> anchors) override;
  [[nodiscard]] Result<std::vector<BlobSummary>> list() override;
  [[nodiscard]] Result<std::vector<SpaceTotal>> totals() override;
  [[nodiscard]] Result<void> clear() override;

 private:
  using Spot = std::pair<SpaceKey, PathName>;
  void forget(const BlobKey& key);

  std::map<BlobKey, IndexEntry> entries_;
  std::multimap<Spot, BlobKey> by_anchor_;
};

}  // namespace holdfast::tier
