#include "policy/cell.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/check.h"
#include "policy/bounds.h"
#include "policy/holdfast.h"
#include "policy/llama_server.h"
#include "policy/radix_peers.h"
#include "policy/vllm.h"

namespace holdfast::policy {

namespace {

using SteadyTime = std::chrono::steady_clock;

double seconds_since(SteadyTime::time_point begin) {
  return std::chrono::duration<double>(SteadyTime::now() - begin).count();
}

const std::array<KnownPolicy, 10>& policies() {
  static const std::array<KnownPolicy, 10> all = {{
      {"holdfast", "Holdfast's own cache, the code that serves", false},
      {"llama-server", "slot with checkpoints, list of whole prompts", true},
      {"llama-server-4", "the same with four slots", true},
      {"vllm", "blocks and states at their ends, LRU", true},
      {"sglang", "radix tree, two pools with an LRU each", true},
      {"marconi", "radix tree, recency + alpha x work per byte; the best alpha of six", true},
      {"lru", "radix tree, prompt ends, answer ends and junctions, LRU", true},
      {"offline", "knows the future, packs greedily", false},
      {"bound", "nobody can be better", false},
      {"oracle", "memory without end", false},
  }};
  return all;
}

Cell empty_cell(const PolicySetup& setup) {
  Cell cell;
  const auto& requests = setup.workload->requests;
  cell.requests = requests.size();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    cell.prompt_tokens += requests[i].input;
    cell.oracle_tokens += setup.trie->reusable(i);
    cell.oracle_work += setup.shape.work(0, setup.trie->reusable(i));
  }
  return cell;
}

void add_reuse(Cell& cell, const PolicySetup& setup, TokenPos reused) {
  cell.reused_tokens += reused;
  cell.saved_work += setup.shape.work(0, reused);
}

PolicyPtr make_policy(const std::string& name, const PolicySetup& setup) {
  if (name == "holdfast") return make_holdfast(setup);
  if (name == "llama-server") return make_llama(setup);
  if (name == "llama-server-4") return make_llama(setup, {.slots = 4});
  if (name == "vllm") return make_vllm(setup);
  if (name == "sglang") return make_sglang(setup);
  if (name == "lru") return make_lru(setup);
  return nullptr;
}

// The best alpha is known afterwards only: that is in the peer's favour.
Result<Cell> run_marconi(const PolicySetup& setup) {
  std::optional<Cell> best;
  for (const double alpha : {0.0, 0.01, 0.1, 0.5, 1.0, 2.0}) {
    const PolicyPtr policy = make_marconi(setup, alpha);
    auto cell = run_policy(*policy, setup);
    if (!cell) return cell;
    if (!best || cell->saved_work > best->saved_work) best = std::move(*cell);
  }
  return *best;
}

Cell run_bound(const PolicySetup& setup) {
  Cell cell = empty_cell(setup);
  cell.reused_tokens = upper_bound(setup, Gain::kTokens);
  cell.saved_work = upper_bound(setup, Gain::kWork);
  return cell;
}

Cell run_offline(const PolicySetup& setup) {
  Cell cell = empty_cell(setup);
  for (const TokenPos reused : offline_reuse(setup)) add_reuse(cell, setup, reused);
  return cell;
}

Cell run_oracle(const PolicySetup& setup) {
  Cell cell = empty_cell(setup);
  cell.reused_tokens = cell.oracle_tokens;
  cell.saved_work = cell.oracle_work;
  return cell;
}

Result<Cell> run_known(const std::string& name, const PolicySetup& setup) {
  if (name == "marconi") return run_marconi(setup);
  if (name == "bound") return run_bound(setup);
  if (name == "offline") return run_offline(setup);
  if (name == "oracle") return run_oracle(setup);
  const PolicyPtr policy = make_policy(name, setup);
  CHECK(policy != nullptr);
  return run_policy(*policy, setup);
}

Error broken(const Turn& turn, const std::string& what) {
  return {ErrorCode::kEngine, "request " + std::to_string(turn.index) + ": " + what, {}};
}

}  // namespace

std::span<const KnownPolicy> known_policies() { return policies(); }

Result<Cell> run_policy(Policy& policy, const PolicySetup& setup,
                        const std::function<void(const Turn&, const Served&)>& turn_done) {
  Cell cell = empty_cell(setup);
  Path path(*setup.trie);
  std::vector<float> us;
  us.reserve(cell.requests);
  for (std::size_t i = 0; i < cell.requests; ++i) {
    path.follow(i);
    const Turn turn{i, &setup.workload->requests[i], &path};
    const auto begin = SteadyTime::now();
    const Served served = policy.serve(turn);
    us.push_back(static_cast<float>(seconds_since(begin) * 1e6));
    if (served.reused < 0 || served.reused > setup.trie->reusable(i)) {
      return broken(turn, "CACHEMODEL-1: more was reused than there was");
    }
    cell.held_most = std::max(cell.held_most, policy.held());
    if (cell.held_most > setup.budget)
      return broken(turn, "CACHEMODEL-2: more is held than the budget");
    add_reuse(cell, setup, served.reused);
    cell.written_bytes += static_cast<double>(served.written);
    cell.states += served.states;
    cell.evictions += served.evicted;
    if (turn_done) turn_done(turn, served);
  }
  std::ranges::sort(us);
  cell.us_p50 = us[us.size() / 2];
  cell.us_p99 = us[us.size() * 99 / 100];
  return cell;
}

Result<Cell> run_cell(const std::string& policy, const PolicySetup& setup) {
  const auto begin = SteadyTime::now();
  auto cell = run_known(policy, setup);
  if (!cell) return cell;
  cell->policy = policy;
  cell->online = policy != "bound" && policy != "offline" && policy != "oracle";
  cell->seconds = seconds_since(begin);
  return cell;
}

}  // namespace holdfast::policy
