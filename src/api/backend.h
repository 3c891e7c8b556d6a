// Backend: what the API needs of a loaded model.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/cache_events.h"
#include "api/embedding_desk.h"
#include "api/openai_request.h"
#include "api/responses_store.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "cache/answer_ids.h"
#include "cache/room_for.h"
#include "cache/token_history.h"
#include "engine/engine_standing.h"
#include "engine/text.h"
#include "serve/scheduler.h"
#include "state/parts.h"
#include "tier/file_system.h"
#include "tree/types.h"

namespace holdfast::api {

// Tenants that share no states, where nothing else tells spaces apart.
[[nodiscard]] inline SpaceKey space_of_tenant(const std::string& tenant) {
  const auto bytes = std::as_bytes(std::span(tenant));
  return {hash_bytes(bytes, 1), hash_bytes(bytes, 2)};
}

// What is answered only where the server was told so.
struct OpenPages {
  bool slots = true;   // GET /slots
  bool props = false;  // POST /props
};

struct Backend {
  std::shared_ptr<const engine::TextModel> text;
  serve::Scheduler* scheduler = nullptr;
  StateShape shape;
  cache::RoomFor room;  // what a conversation takes, and how many fit
  int slots = 0;
  TokenPos context_tokens = 0;
  TokenPos batch_tokens = 2048;      // --batch-size
  std::string model_name;            // what responses call it
  std::vector<std::string> aliases;  // further names
  std::vector<std::string> tags;     // what people call models like it; shown and no more
  OpenPages open;
  std::string build;           // "holdfast 0.2.0"
  std::string fingerprint;     // "b1234-abcdef holdfast 0.2.0": the engine's build and ours
  std::int64_t loaded_at = 0;  // Unix time
  // How the engine stands now: it may be checked further while the server is idle.
  std::function<engine::EngineStanding()> engine = [] { return engine::EngineStanding{}; };
  ChatDefaults defaults;
  std::optional<bool> enable_thinking;  // where a request is silent
  // How long a stream stays silent before it shows that it is alive. Agents give up
  // after minutes, proxies often after ten seconds.
  std::chrono::milliseconds keep_alive_every{5000};
  // Which states a tenant's requests use and add to.
  std::function<SpaceKey(const std::string& tenant)> space_of = space_of_tenant;
  std::shared_ptr<tier::FileSystem> slot_files;  // --slot-save-path; null: slots are not saved
  std::shared_ptr<ResponseStore> responses = std::make_shared<ResponseStore>();
  cache::TokenHistory* history = nullptr;  // null: prompts are tokenised from their text alone
  cache::AnswerIds* answer_ids = nullptr;  // null: answers get no ids
  std::shared_ptr<CacheEvents> events = std::make_shared<CacheEvents>();
  std::shared_ptr<EmbeddingDesk> embeddings;  // null: text is generated; else nothing but these
};

// Where the one backend comes from: absent while the model loads.
// Any thread.
class BackendSlot {
 public:
  [[nodiscard]] std::shared_ptr<const Backend> get() const {
    const MutexLock lock(mutex_);
    return backend_;
  }
  void set(std::shared_ptr<const Backend> backend) {
    const MutexLock lock(mutex_);
    backend_ = std::move(backend);
  }
  // Share of the model read so far, 0..1.
  void set_progress(float share) { progress_.store(share); }
  [[nodiscard]] float progress() const { return progress_.load(); }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const Backend> backend_ GUARDED_BY(mutex_);
  std::atomic<float> progress_{0.0F};
};

}  // namespace holdfast::api
