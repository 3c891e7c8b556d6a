#include "api/responses_store.h"

#include <utility>

namespace holdfast::api {

ByteCount ResponseStore::cost(const StoredResponse& response) {
  constexpr std::size_t kNodes = 256;  // of list, index and shared pointer
  return static_cast<ByteCount>(2 * response.id.size() + response.tenant.size() +
                                response.items_json.size() + response.response_json.size() +
                                kNodes);
}

bool ResponseStore::put(StoredResponse response) {
  const ByteCount bytes = cost(response);
  if (bytes > limits_.bytes_max || limits_.responses_max == 0) return false;
  const std::lock_guard lock(mutex_);
  if (const auto same = index_.find(response.id); same != index_.end()) drop(same);
  while (index_.size() >= limits_.responses_max || bytes_ + bytes > limits_.bytes_max)
    drop(index_.find(responses_.front()->id));
  responses_.push_back(std::make_shared<const StoredResponse>(std::move(response)));
  index_[responses_.back()->id] = std::prev(responses_.end());
  bytes_ += bytes;
  return true;
}

ResponseStore::Index::iterator ResponseStore::entry(const std::string& tenant,
                                                    const std::string& id) {
  const auto found = index_.find(id);
  const bool own = found != index_.end() && (*found->second)->tenant == tenant;
  return own ? found : index_.end();
}

std::shared_ptr<const StoredResponse> ResponseStore::find(const std::string& tenant,
                                                          const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = entry(tenant, id);
  if (found == index_.end()) return nullptr;
  responses_.splice(responses_.end(), responses_, found->second);
  return *found->second;
}

bool ResponseStore::remove(const std::string& tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = entry(tenant, id);
  if (found == index_.end()) return false;
  drop(found);
  return true;
}

void ResponseStore::drop(Index::iterator found) {
  bytes_ -= cost(**found->second);
  responses_.erase(found->second);
  index_.erase(found);
}

std::vector<std::string> ResponseStore::check() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> violations;
  ByteCount bytes = 0;
  for (auto at = responses_.begin(); at != responses_.end(); ++at) {
    bytes += cost(**at);
    const auto found = index_.find((*at)->id);
    if (found == index_.end() || Responses::const_iterator(found->second) != at)
      violations.push_back("RSTORE-3: " + (*at)->id + " is not in the index");
  }
  if (index_.size() != responses_.size()) violations.emplace_back("RSTORE-3: sizes differ");
  if (responses_.size() > limits_.responses_max) violations.emplace_back("RSTORE-1: too many");
  if (bytes != bytes_ || bytes > limits_.bytes_max)
    violations.emplace_back("RSTORE-2: the bytes do not add up");
  return violations;
}

}  // namespace holdfast::api
