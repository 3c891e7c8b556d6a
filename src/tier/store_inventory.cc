#include "tier/store_inventory.h"

#include <algorithm>
#include <unordered_set>

namespace holdfast::tier {

std::vector<SpaceTotal> StoreInventory::space_totals() {
  auto totals = shelf_.index.totals();
  if (!totals) return {};
  std::ranges::sort(*totals, {}, &SpaceTotal::space);
  return std::move(*totals);
}

std::set<SpaceKey> StoreInventory::spaces() {
  std::set<SpaceKey> used;
  for (const BlobSummary& blob : blobs()) used.insert(blob.space);
  return used;
}

std::vector<BlobPath> StoreInventory::paths_of(std::span<const BlobSummary> blobs) {
  if (blobs.empty()) return {};
  std::unordered_set<BlobKey, BlobKeyHash> wanted;
  std::vector<PathName> anchors;
  for (const BlobSummary& blob : blobs) {
    wanted.insert(blob.key);
    anchors.push_back(blob.anchor);
  }
  std::ranges::sort(anchors);
  anchors.erase(std::unique(anchors.begin(), anchors.end()), anchors.end());
  const auto entries = shelf_.index.along(blobs.front().space, anchors);
  std::vector<BlobPath> paths;
  for (const IndexEntry& entry : entries ? *entries : std::vector<IndexEntry>{}) {
    if (wanted.contains(entry.facts.key)) paths.push_back(entry.facts.path);
  }
  return paths;
}

Result<BlobFacts> StoreInventory::facts_of(const BlobKey& key) {
  auto opened = shelf_.blobs.open(key);
  if (!opened.ok()) return io_error("the blob cannot be opened", opened.error);
  FileSource source(*opened.value);
  return read_facts(source);
}

}  // namespace holdfast::tier
