#include "cli/kept_responses.h"

#include <utility>

#include "env/log.h"

namespace holdfast::cli {
namespace {

void log_damaged(std::size_t count, const std::string& folder) {
  if (count == 0) return;
  const bool one = count == 1;
  env::Log::warn(std::to_string(count) + (one ? " stored response in " : " stored responses in ") +
                 folder + (one ? " was" : " were") +
                 " damaged; a client that names one has to send its conversation again");
}

void log_trouble(const std::string& folder, const std::string& trouble) {
  if (trouble.empty()) {
    env::Log::info("responses are kept in " + folder + " again");
  } else {
    env::Log::warn("a response could not be kept in " + folder + ": " + trouble +
                   "; it is tried again later. Until then a restart would forget it");
  }
}

}  // namespace

KeptResponses::KeptResponses(tier::LastingFolder& folder, cache::DiskTier& tier,
                             const env::Clock& clock)
    : folder_(folder), tier_(tier) {
  const std::string root = folder_.files().root();
  if (folder_.role() == tier::StoreRole::kReader) {
    log_damaged(api::ResponseKeeper::read(folder_.files(), *store_), root);
    return;
  }
  keeper_ = std::make_unique<api::ResponseKeeper>(folder_.files(), clock);
  keeper_->on_trouble = [root](const std::string& what) { log_trouble(root, what); };
  log_damaged(keeper_->begin(*store_), root);
  follow_store();
}

// A response may have been forgotten again before its turn comes.
void KeptResponses::follow_store() {
  api::ResponseStoreEvents events;
  events.stored = [this](const api::StoredResponsePtr& response) {
    tier_.ask([this, response] {
      const bool still = store_->find(response->tenant, response->id) == response;
      if (still) keeper_->keep(response);
    });
  };
  events.dropped = [this](const std::string& id) {
    tier_.ask([this, id] { keeper_->forget(id); });
  };
  store_->listen(std::move(events));
}

void KeptResponses::renew() {
  if (keeper_ != nullptr) keeper_->begin_in(folder_.files(), store_->all());
}

Result<void> KeptResponses::clear() {
  store_->clear(std::nullopt);
  if (keeper_ == nullptr) return {};
  return keeper_->clear();
}

void KeptResponses::finish() {
  if (keeper_ != nullptr) keeper_->finish();
}

}  // namespace holdfast::cli
