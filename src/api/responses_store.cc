#include "api/responses_store.h"

#include <algorithm>
#include <utility>

namespace holdfast::api {

Error not_stored(std::string_view what, const std::string& id, std::string param) {
  return {ErrorCode::kNotFound,
          "There is no " + std::string(what) + " '" + id +
              "' here: it was not stored, it was made with another API key or cache_salt, or "
              "later ones have taken its place.",
          std::move(param)};
}

ByteCount ResponseStore::cost(const StoredResponse& response) {
  constexpr std::size_t kNodes = 256;  // of list, index and shared pointer
  std::size_t bytes = kNodes + 2 * response.id.size() + response.tenant.size() +
                      response.items_json.size() + response.response_json.size();
  for (const StoredItem& item : response.output)
    bytes += kNodes + 2 * item.id.size() + item.json.size() + response.id.size();
  return static_cast<ByteCount>(bytes);
}

bool ResponseStore::put(StoredResponse response) {
  const ByteCount bytes = cost(response);
  if (bytes > limits_.bytes_max || limits_.responses_max == 0) return false;
  const MutexLock lock(mutex_);
  if (const auto same = index_.find(response.id); same != index_.end()) drop_and_tell(same);
  while (index_.size() >= limits_.responses_max || bytes_ + bytes > limits_.bytes_max)
    drop_and_tell(index_.find(responses_.front()->id));
  responses_.push_back(std::make_shared<const StoredResponse>(std::move(response)));
  const StoredResponse& stored = *responses_.back();
  index_[stored.id] = std::prev(responses_.end());
  for (const StoredItem& item : stored.output) item_index_[item.id] = stored.id;
  bytes_ += bytes;
  if (events_.stored) events_.stored(responses_.back());
  return true;
}

void ResponseStore::listen(ResponseStoreEvents events) {
  const MutexLock lock(mutex_);
  events_ = std::move(events);
}

std::vector<StoredResponsePtr> ResponseStore::all() const {
  const MutexLock lock(mutex_);
  return {responses_.begin(), responses_.end()};
}

ResponseStore::Index::iterator ResponseStore::entry(const std::string& tenant,
                                                    const std::string& id) {
  const auto found = index_.find(id);
  const bool own = found != index_.end() && (*found->second)->tenant == tenant;
  return own ? found : index_.end();
}

StoredResponsePtr ResponseStore::find(const std::string& tenant, const std::string& id) {
  const MutexLock lock(mutex_);
  const auto found = entry(tenant, id);
  if (found == index_.end()) return nullptr;
  responses_.splice(responses_.end(), responses_, found->second);
  return *found->second;
}

std::optional<std::string> ResponseStore::find_item(const std::string& tenant,
                                                    const std::string& item_id) {
  const MutexLock lock(mutex_);
  const auto holder = item_index_.find(item_id);
  const auto found = holder == item_index_.end() ? index_.end() : entry(tenant, holder->second);
  if (found == index_.end()) return std::nullopt;
  const auto& output = (*found->second)->output;
  return std::ranges::find(output, item_id, &StoredItem::id)->json;
}

bool ResponseStore::remove(const std::string& tenant, const std::string& id) {
  const MutexLock lock(mutex_);
  const auto found = entry(tenant, id);
  if (found == index_.end()) return false;
  drop_and_tell(found);
  return true;
}

void ResponseStore::drop_and_tell(Index::iterator found) {
  const StoredResponsePtr gone = *found->second;
  drop(found);
  if (events_.dropped) events_.dropped(gone->id);
}

void ResponseStore::clear(const std::optional<std::string>& tenant) {
  const MutexLock lock(mutex_);
  for (auto found = index_.begin(); found != index_.end();) {
    const auto next = std::next(found);
    if (!tenant) {
      drop(found);
    } else if ((*found->second)->tenant == *tenant) {
      drop_and_tell(found);
    }
    found = next;
  }
}

void ResponseStore::drop(Index::iterator found) {
  bytes_ -= cost(**found->second);
  for (const StoredItem& item : (*found->second)->output) item_index_.erase(item.id);
  responses_.erase(found->second);
  index_.erase(found);
}

bool ResponseStore::items_indexed(const StoredResponse& response) const {
  for (const StoredItem& item : response.output) {
    const auto holder = item_index_.find(item.id);
    if (holder == item_index_.end() || holder->second != response.id) return false;
  }
  return true;
}

std::vector<std::string> ResponseStore::check() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> violations;
  ByteCount bytes = 0;
  std::size_t items = 0;
  for (auto at = responses_.begin(); at != responses_.end(); ++at) {
    bytes += cost(**at);
    items += (*at)->output.size();
    if (!items_indexed(**at)) violations.push_back("RSTORE-3: items of " + (*at)->id);
    const auto found = index_.find((*at)->id);
    if (found == index_.end() || Responses::const_iterator(found->second) != at)
      violations.push_back("RSTORE-3: " + (*at)->id + " is not in the index");
  }
  if (index_.size() != responses_.size() || item_index_.size() != items)
    violations.emplace_back("RSTORE-3: sizes differ");
  if (responses_.size() > limits_.responses_max) violations.emplace_back("RSTORE-1: too many");
  if (bytes != bytes_ || bytes > limits_.bytes_max)
    violations.emplace_back("RSTORE-2: the bytes do not add up");
  return violations;
}

}  // namespace holdfast::api
