#include "cli/replay_policy.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/explain_view.h"
#include "cli/recorded_workload.h"
#include "cli/replay_policy_view.h"
#include "replay/path_trie.h"

namespace holdfast {

namespace {

constexpr int kExitFailed = 1;

void tell(bool progress, const std::string& line) {
  if (progress) std::fprintf(stderr, "%s\n", line.c_str());
}

// All cells of one trace with answers kept, or stripped.
Result<void> run_workload(const replay::Workload& workload, const std::string& name,
                          const ReplayPolicyOptions& options, bool progress,
                          std::vector<ReplayCell>& cells) {
  const replay::PathTrie trie(workload);
  for (const replay::ModelShape& model : options.models) {
    for (const ByteCount budget : options.budgets) {
      for (const std::string& policy : options.policies) {
        const replay::PolicySetup setup{&workload, &trie, model, budget, options.machine};
        auto cell = replay::run_cell(policy, setup);
        if (!cell) return cell.error();
        cells.push_back({name, workload.outputs, model.name, budget, std::move(*cell)});
        tell(progress, replay_cell_line(cells.back()));
      }
    }
  }
  return {};
}

// Without other wishes: the recorded server's states and budget. What became of answers is
// known, so `outputs` says nothing here.
Result<void> run_recording(const std::string& path, ReplayPolicyOptions options, bool progress,
                           std::vector<ReplayCell>& cells) {
  const auto recorded = recorded_workload(path);
  if (!recorded) return recorded.error();
  if (!options.models_given) options.models = {recorded->model};
  if (!options.budgets_given) options.budgets = {recorded->budget};
  const std::string name = std::filesystem::path(path).filename().string();
  return run_workload(recorded->workload, name, options, progress, cells);
}

}  // namespace

Result<std::string> replay_policies(const ReplayPolicyOptions& options, const Environment& env,
                                    bool progress) {
  std::vector<ReplayCell> cells;
  for (const std::string& path : options.traces) {
    if (is_recording(path)) {
      if (auto ran = run_recording(path, options, progress, cells); !ran) return ran.error();
      continue;
    }
    auto trace = replay::read_trace(path, options.trace);
    if (!trace) return trace.error();
    const std::string name = std::filesystem::path(path).filename().string();
    tell(progress, trace_line(name, *trace));
    for (const replay::Outputs outputs : options.outputs) {
      const replay::Workload workload = replay::make_workload(*trace, outputs);
      if (auto ran = run_workload(workload, name, options, progress, cells); !ran) {
        return ran.error();
      }
    }
  }
  return options.json ? replay_json(cells)
                      : replay_tables(cells, options.details, explain_style(env));
}

int replay_policy_main(std::span<const std::string> args, const Environment& env) {
  const auto options = parse_replay_policy_options(args);
  if (!options) {
    std::fprintf(stderr, "holdfast: %s\n", options.error().message.c_str());
    return kExitUsage;
  }
  const auto text = replay_policies(*options, env, true);
  if (!text) {
    std::fprintf(stderr, "holdfast: %s\n", text.error().message.c_str());
    return kExitFailed;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace holdfast
