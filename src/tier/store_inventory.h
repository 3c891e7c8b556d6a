// StoreInventory: what a folder holds, for people and for tools, as its index and headers say.
//
// Nothing here reads a whole blob, and nothing changes the folder.
//
// Promised, and verified by disk_store_model_test.cc:
//   INVENTORY-1  what is listed may be offered: it is held by a writer, and did not fail a check of
//                a reader
#pragma once

#include <set>
#include <span>
#include <vector>

#include "base/result.h"
#include "tier/blob.h"
#include "tier/blob_index.h"
#include "tier/blob_shelf.h"

namespace holdfast::tier {

class StoreInventory {
 public:
  // REQUIRES: the shelf outlives it.
  explicit StoreInventory(BlobShelf& shelf) : shelf_(shelf) {}

  // By key.
  [[nodiscard]] std::vector<BlobSummary> blobs() { return shelf_.list(); }
  // What each space has, by space: as the index says, without a look at each blob.
  [[nodiscard]] std::vector<SpaceTotal> space_totals();
  // Those of which something is listed.
  [[nodiscard]] std::set<SpaceKey> spaces();
  // Where these stand, their tokens included. REQUIRES: all of one space, from blobs().
  [[nodiscard]] std::vector<BlobPath> paths_of(std::span<const BlobSummary> blobs);
  // What a blob's header says, even if its content is damaged. Errors as of DiskStore::load().
  [[nodiscard]] Result<BlobFacts> facts_of(const BlobKey& key);

 private:
  BlobShelf& shelf_;
};

}  // namespace holdfast::tier
