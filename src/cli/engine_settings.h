// What the options of `holdfast serve` mean for the engine, and what shapes its states.
// Shared by the server and `holdfast doctor`.
#pragma once

#include <string>

#include "cache/fingerprint.h"
#include "cli/options.h"
#include "engine/engine.h"
#include "engine/ladder.h"
#include "engine/llama/llama_config.h"
#include "env/usable_cpus.h"

namespace holdfast::cli {

[[nodiscard]] llama::LlamaConfig engine_config(const ServeOptions& options);

// Threads that the engine computes with.
struct ThreadCounts {
  int generate = 1;
  int read = 1;  // prompts
};
[[nodiscard]] ThreadCounts thread_counts(const ComputeOptions& options,
                                         const env::UsableCpus& cpus = env::usable_cpus());
// More threads than there are CPUs for them: one sentence for the log; empty: there are not.
[[nodiscard]] std::string too_many_threads(const ComputeOptions& options,
                                           const env::UsableCpus& cpus = env::usable_cpus());

// The longest chunk that prompts are read in.
[[nodiscard]] TokenPos grid_step(const ServeOptions& options, bool on_gpu);

// The engine that the options ask for: the first rung. REQUIRES: nothing is loaded yet, or
// the variant in use is the one that is meant.
[[nodiscard]] Result<engine::EngineSetting> asked_setting(const ServeOptions& options);

// The configuration with what a rung gives up.
[[nodiscard]] llama::LlamaConfig with_setting(llama::LlamaConfig config,
                                              const engine::EngineSetting& setting);

// What of a loaded model shapes its states.
struct StateFacts {
  std::string digest;            // of the model's file
  engine::EngineSetting engine;  // as it is in use
  TokenPos grid_step = 0;
  bool stretched = false;    // positions are encoded for a longer context than the model's first
  bool hidden_rows = false;  // an MTP head wants that of every token
};
// All that shapes a state besides its tokens.
[[nodiscard]] cache::Fingerprint fingerprint_of(const ServeOptions& options,
                                                const StateFacts& facts);

}  // namespace holdfast::cli
