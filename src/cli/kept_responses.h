// KeptResponses: the stored responses of a running server, and their place in its cache folder.
//
//   any thread         ResponseStore: what clients may name
//   the tier's thread  ResponseKeeper: the same, in files
//
// A server that does not write to the folder reads what is there when it starts, and keeps its own
// responses in memory.
#pragma once

#include <memory>
#include <string>

#include "api/response_keeper.h"
#include "api/responses_store.h"
#include "cache/disk_tier.h"
#include "env/clock.h"
#include "tier/lasting_folder.h"

namespace holdfast::cli {

class KeptResponses {
 public:
  // Reads what is there; the log says what was damaged.
  // REQUIRES: before the tier is started; all of them outlive the tier's thread, and the store is
  // not changed after that.
  KeptResponses(tier::LastingFolder& folder, cache::DiskTier& tier, const env::Clock& clock);

  [[nodiscard]] const std::shared_ptr<api::ResponseStore>& store() const { return store_; }

  // -- the tier's thread --------------------------------------------------------
  // There is a new folder in place of the one that had gone.
  void renew();
  // What was stored before this is forgotten in both places, what comes later is kept in both.
  [[nodiscard]] Result<void> clear();
  // Nothing more will come.
  void finish();

 private:
  void follow_store();

  tier::LastingFolder& folder_;
  cache::DiskTier& tier_;
  const std::shared_ptr<api::ResponseStore> store_ = std::make_shared<api::ResponseStore>();
  std::unique_ptr<api::ResponseKeeper> keeper_;  // the tier's thread's; null: none are written
};

}  // namespace holdfast::cli
