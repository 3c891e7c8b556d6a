// One cell of a comparison: a policy over a workload under a budget.
//
//   eta     tokens reused, of those that the oracle reuses
//   eta_c   work saved, of what the oracle saves (model_shape.h)
//   hit     tokens reused, of all prompt tokens
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace holdfast::policy {

struct Cell {
  std::string policy;
  bool online = true;  // false: it knows the future, or only adds up
  std::size_t requests = 0;
  double prompt_tokens = 0;
  double reused_tokens = 0;
  double oracle_tokens = 0;
  double saved_work = 0;
  double oracle_work = 0;
  double written_bytes = 0;
  double states = 0;
  double evictions = 0;
  ByteCount held_most = 0;
  double us_p50 = 0;  // of a request, with all that the policy does for it
  double us_p99 = 0;
  double seconds = 0;

  [[nodiscard]] double eta() const { return oracle_tokens > 0 ? reused_tokens / oracle_tokens : 1; }
  [[nodiscard]] double eta_c() const { return oracle_work > 0 ? saved_work / oracle_work : 1; }
  [[nodiscard]] double hit() const { return reused_tokens / prompt_tokens; }
};

// A policy by name.
struct KnownPolicy {
  std::string name;
  std::string about;
  bool peer = false;  // Holdfast is compared with it
};
[[nodiscard]] std::span<const KnownPolicy> known_policies();

// REQUIRES: the name is known. An Error says which invariant of policy.h did not hold.
[[nodiscard]] Result<Cell> run_cell(const std::string& policy, const PolicySetup& setup);
// The same for a policy at hand; `turn_done` is told of each request.
[[nodiscard]] Result<Cell> run_policy(
    Policy& policy, const PolicySetup& setup,
    const std::function<void(const Turn&, const Served&)>& turn_done = {});

}  // namespace holdfast::policy
