// ResponseStore: recent responses, for `previous_response_id`, for items that a client only
// names, and for GET /v1/responses/{id}.
//
// In memory and bounded: the response unused for longest goes first. Where there is a cache folder,
// it holds the same responses (api/response_keeper.h), and they come back after a restart. A client
// that is told that one has gone sends the whole conversation again, as agents always do.
//
// Invariants, verified by check():
//   RSTORE-1  at most limits.responses_max responses are held
//   RSTORE-2  bytes = sum of cost(response) <= limits.bytes_max
//   RSTORE-3  the index and the list hold the same responses, each under its own id, and
//             the index of items holds their outputs
//
// Promised by find(), find_item() and remove(), verified by the unit test:
//   RSTORE-4  nothing is seen by another tenant than the one that made it
//
// Any thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_annotations.h"
#include "state/parts.h"
#include "tier/stored_response.h"

namespace holdfast::api {

using tier::StoredItem;
using tier::StoredResponse;
using StoredResponsePtr = std::shared_ptr<const StoredResponse>;

// The answer to a client that names a response, or an item, that is not there.
[[nodiscard]] Error not_stored(std::string_view what, const std::string& id, std::string param);

struct ResponseStoreLimits {
  std::size_t responses_max = 1024;
  ByteCount bytes_max = ByteCount{64} << 20;  // some hundreds of agents' conversations
};

// Who wants to know what the store holds. Called in the order of the changes, with the store's lock
// held: they neither block nor call the store.
struct ResponseStoreEvents {
  std::function<void(StoredResponsePtr response)> stored;
  // Deleted, or later ones have taken its place.
  std::function<void(const std::string& id)> dropped;
};

class ResponseStore {
 public:
  explicit ResponseStore(ResponseStoreLimits limits = {}) : limits_(limits) {}

  // From now on. What is there already is not told of.
  void listen(ResponseStoreEvents events);

  // False: it is larger than all of the store.
  bool put(StoredResponse response);
  // Null: there is none for this tenant.
  [[nodiscard]] StoredResponsePtr find(const std::string& tenant, const std::string& id);
  // One item of an output, as JSON text; nullopt: there is none for this tenant.
  [[nodiscard]] std::optional<std::string> find_item(const std::string& tenant,
                                                     const std::string& item_id);
  // False: there was none for this tenant.
  bool remove(const std::string& tenant, const std::string& id);
  // Forgets those of one tenant; nothing: of all, and then nobody is told.
  void clear(const std::optional<std::string>& tenant);
  // The one unused for longest comes first.
  [[nodiscard]] std::vector<StoredResponsePtr> all() const;

  [[nodiscard]] static ByteCount cost(const StoredResponse& response);
  [[nodiscard]] std::vector<std::string> check() const;  // empty when RSTORE-1..3 hold

 private:
  using Responses = std::list<StoredResponsePtr>;
  using Index = std::unordered_map<std::string, Responses::iterator>;

  [[nodiscard]] Index::iterator entry(const std::string& tenant, const std::string& id)
      REQUIRES_LOCK(mutex_);
  void drop(Index::iterator found) REQUIRES_LOCK(mutex_);
  void drop_and_tell(Index::iterator found) REQUIRES_LOCK(mutex_);
  [[nodiscard]] bool items_indexed(const StoredResponse& response) const REQUIRES_LOCK(mutex_);

  const ResponseStoreLimits limits_;
  mutable Mutex mutex_;
  Responses responses_ GUARDED_BY(mutex_);  // the one unused for longest comes first
  Index index_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::string> item_index_ GUARDED_BY(mutex_);  // item -> response
  ByteCount bytes_ GUARDED_BY(mutex_) = 0;
  ResponseStoreEvents events_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::api
