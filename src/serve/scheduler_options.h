// How a Scheduler is set up, and who watches it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "cache/cache_journal.h"
#include "cache/cache_options.h"
#include "cache/conversation_status.h"
#include "cache/disk_tier.h"
#include "cache/token_history.h"
#include "engine/companion.h"
#include "engine/conformance.h"
#include "plan/eviction.h"
#include "plan/gap_pace.h"
#include "serve/prover.h"
#include "serve/request.h"
#include "state/exactness.h"

namespace holdfast::serve {

struct SchedulerOptions {
  std::size_t queue_max = 256;
  // What may not depend on other requests, nor on what is cached. kPrompt: prompts are read in the
  // chunks of the grid. kAll: and slots are decoded one by one.
  Exactness exact = Exactness::kOff;
  // Slots are decoded one by one in any case: where an engine is wrong about several at once.
  bool one_by_one = false;
  TokenPos grid_step = 512;
  plan::GapPaceOptions pace;
  // Tokens that every draft is filled up to where all is exact, so that no token's bits depend on
  // what was drafted.
  TokenPos deterministic_draft = 0;
  // For benchmarks of models whose weights mean nothing: a drafted token at each place is
  // taken with this probability, whatever the model says. Of every request the same ones are, if
  // its drafts are as long. Empty: the model decides.
  std::vector<float> synthetic_acceptance;
  ProverOptions proofs;
  // Whether answers are read ahead (serve/prewarmer.h); asked for each of them. Null: never.
  std::function<bool()> may_prewarm;
  // What of the engine's check is left to do while nobody waits; nothing: nothing is.
  std::optional<engine::ConformanceOptions> check;
  cache::CacheOptions cache;  // `exact` and `merged_chunk` there follow from these

  [[nodiscard]] bool has_exact_prompts() const { return prompts_are_exact(exact); }
  [[nodiscard]] bool is_deterministic() const { return exact == Exactness::kAll; }
};

// Sees what the scheduler does, for logs and progress. Called on its thread.
class SchedulerObserver {
 public:
  virtual ~SchedulerObserver() = default;
  virtual void on_started(const GenerateRequest&, const Started&) {}
  virtual void on_progress(const GenerateRequest&, const PromptProgress&) {}
  virtual void on_finished(const GenerateRequest&, const Finished&) {}
  virtual void on_failed(const GenerateRequest&, const Error&) {}
  virtual void on_evicted(const plan::Victim&) {}
  // Nothing: of all spaces.
  virtual void on_cleared(const std::optional<SpaceKey>&, ByteCount /*freed*/) {}
  virtual void on_dropped(const cache::DroppedConversation&) {}
  virtual void on_proved(const Proof&) {}
  // Some more of the engine's check was done.
  virtual void on_checked(const engine::ConformanceReport&) {}
};

// What runs beside the engine, where there is one. Outlives the scheduler.
struct SchedulerParts {
  SchedulerObserver* observer = nullptr;
  cache::TokenHistory* history = nullptr;  // learns the tokens of each answer
  engine::Companion* companion = nullptr;
  cache::DiskTier* lower = nullptr;        // asked on the scheduler's thread, from start() on
  cache::CacheJournal* journal = nullptr;  // sees what the cache is asked and told
};

}  // namespace holdfast::serve
