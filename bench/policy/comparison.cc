#include "policy/comparison.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "policy/path_trie.h"
#include "policy/recorded_workload.h"
#include "policy/view.h"

namespace holdfast::policy {

namespace {

void tell(bool progress, const std::string& line) {
  if (progress) std::fprintf(stderr, "%s\n", line.c_str());
}

// All cells of one trace with answers kept, or stripped.
Result<void> run_workload(const Workload& workload, const std::string& name, const Options& options,
                          bool progress, std::vector<ComparedCell>& cells) {
  const PathTrie trie(workload);
  for (const ModelShape& model : options.models) {
    for (const ByteCount budget : options.budgets) {
      for (const std::string& policy : options.policies) {
        const PolicySetup setup{&workload, &trie, model, budget, options.machine};
        auto cell = run_cell(policy, setup);
        if (!cell) return cell.error();
        cells.push_back({name, workload.outputs, model.name, budget, std::move(*cell)});
        tell(progress, cell_line(cells.back()));
      }
    }
  }
  return {};
}

// Without other wishes: the recorded server's states and budget. What became of answers is
// known, so `outputs` says nothing here.
Result<void> run_recording(const std::string& path, Options options, bool progress,
                           std::vector<ComparedCell>& cells) {
  const auto recorded = recorded_workload(path);
  if (!recorded) return recorded.error();
  if (!options.models_given) options.models = {recorded->model};
  if (!options.budgets_given) options.budgets = {recorded->budget};
  const std::string name = std::filesystem::path(path).filename().string();
  return run_workload(recorded->workload, name, options, progress, cells);
}

}  // namespace

Result<std::string> compare(const Options& options, bool blocks, bool progress) {
  std::vector<ComparedCell> cells;
  for (const std::string& path : options.traces) {
    if (is_recording(path)) {
      if (auto ran = run_recording(path, options, progress, cells); !ran) return ran.error();
      continue;
    }
    auto trace = read_trace(path, options.trace);
    if (!trace) return trace.error();
    const std::string name = std::filesystem::path(path).filename().string();
    tell(progress, trace_line(name, *trace));
    for (const Outputs outputs : options.outputs) {
      const Workload workload = make_workload(*trace, outputs);
      if (auto ran = run_workload(workload, name, options, progress, cells); !ran) {
        return ran.error();
      }
    }
  }
  return options.json ? cells_json(cells) : tables(cells, options.details, blocks);
}

}  // namespace holdfast::policy
