// `holdfast replay --policy`: what caches would have reused of a trace of requests.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "replay/machine.h"
#include "replay/model_shape.h"
#include "replay/trace.h"
#include "replay/workload.h"

namespace holdfast {

struct ReplayPolicyOptions {
  std::vector<std::string> policies = {};  // names of replay::known_policies()
  std::vector<std::string> traces = {};
  std::vector<ByteCount> budgets = {};  // replay::kUnlimited: no limit
  std::vector<replay::ModelShape> models = {};
  bool budgets_given = false;
  bool models_given = false;
  std::vector<replay::Outputs> outputs = {};
  replay::Machine machine = replay::known_machines().front();
  replay::TraceOptions trace = {};
  bool details = false;
  bool json = false;
};

// An Error is one sentence.
[[nodiscard]] Result<ReplayPolicyOptions> parse_replay_policy_options(
    std::span<const std::string> args);
[[nodiscard]] std::string replay_policy_help(int width = 80);

// What is to be printed. `progress` is told of each cell when it is done, if given.
[[nodiscard]] Result<std::string> replay_policies(const ReplayPolicyOptions& options,
                                                  const Environment& env, bool progress);

// `args` are those after `holdfast replay`. Returns the exit code.
[[nodiscard]] int replay_policy_main(std::span<const std::string> args, const Environment& env);

}  // namespace holdfast
