// How a comparison of cache policies looks in a terminal, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/explain_view.h"
#include "replay/cell.h"
#include "replay/trace.h"

namespace holdfast {

struct ReplayCell {
  std::string trace;
  replay::Outputs outputs = replay::Outputs::kKeep;
  std::string model;
  ByteCount budget = 0;
  replay::Cell cell;
};

// "64 GiB" or "no limit".
[[nodiscard]] std::string budget_name(ByteCount budget);
[[nodiscard]] std::string trace_line(const std::string& name, const replay::Trace& trace);
// One cell in a line, for progress.
[[nodiscard]] std::string replay_cell_line(const ReplayCell& cell);
// Policies down, budgets across; then where Holdfast stands. With details, every figure.
[[nodiscard]] std::string replay_tables(const std::vector<ReplayCell>& cells, bool details,
                                        const ExplainStyle& style);
[[nodiscard]] std::string replay_json(const std::vector<ReplayCell>& cells);

}  // namespace holdfast
