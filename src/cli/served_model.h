// ServedModel: a loaded and checked model at work: its scheduler, its states on disk, the
// answers that it remembers, and what the API is told about it.
//
// One thread at a time makes, starts, announces and stops it. Where it begins to serve, the
// scheduler and the cache folder have threads of their own.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "api/backend.h"
#include "api/cache_events.h"
#include "cache/answer_ids.h"
#include "cache/fingerprint.h"
#include "cache/room_for.h"
#include "cache/token_history.h"
#include "cli/checked_model.h"
#include "cli/engine_watch.h"
#include "cli/generation_log.h"
#include "cli/options.h"
#include "cli/server_disk.h"
#include "env/clock.h"
#include "serve/observers.h"
#include "serve/scheduler.h"

namespace holdfast::cli {

// Who watches the scheduler.
struct Watchers {
  GenerationLog log;
  std::shared_ptr<api::CacheEvents> events = std::make_shared<api::CacheEvents>();
  serve::Observers all{{&log, events.get()}};
};

class ServedModel {
 public:
  // The options outlive it. `on_fault` is called, on the scheduler's thread, when the engine
  // turns out to be wrong.
  ServedModel(const ServeOptions& options, CheckedModel checked, std::function<void()> on_fault);

  // Opens the cache folder and starts the scheduler. `journal`: null where nothing is recorded.
  void start(cache::CacheJournal* journal);

  // REQUIRES: started, for all that follows.
  [[nodiscard]] serve::Scheduler& scheduler() { return *scheduler_; }
  // What the API serves it with. `slot_files`: null where slots are not saved.
  [[nodiscard]] std::shared_ptr<const api::Backend> backend(
      std::shared_ptr<tier::FileSystem> slot_files);
  // Says in the log what is served, and what there is room for.
  void announce(double load_seconds) const;
  // Finishes what is being answered, then writes states to disk until `interrupted` says so.
  void stop(const std::function<bool()>& interrupted);

 private:
  [[nodiscard]] serve::SchedulerOptions settings();
  void open_disk(serve::SchedulerOptions& settings);
  void sign_answers();
  [[nodiscard]] cache::RoomFor room_with(const serve::SchedulerOptions& settings);
  [[nodiscard]] cache::TokenHistory* history();
  void announce_engine() const;
  void announce_states() const;
  void announce_drafts() const;

  const ServeOptions& options_;
  const env::SteadyClock clock_;
  Watchers watchers_;
  cache::TokenHistory history_;
  std::optional<cache::AnswerIds> answer_ids_;  // nothing: answers get none
  llama::LoadedModel model_;
  EngineWatch engine_;
  cache::Fingerprint fingerprint_;
  cache::RoomFor room_;
  std::unique_ptr<ServerDisk> disk_;  // null: there is none
  std::optional<serve::Scheduler> scheduler_;
};

}  // namespace holdfast::cli
