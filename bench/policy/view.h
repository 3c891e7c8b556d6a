// How a comparison of cache policies looks in a terminal, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "policy/cell.h"
#include "policy/trace.h"

namespace holdfast::policy {

struct ComparedCell {
  std::string trace;
  Outputs outputs = Outputs::kKeep;
  std::string model;
  ByteCount budget = 0;
  Cell cell;
};

// "64 GiB" or "no limit".
[[nodiscard]] std::string budget_name(ByteCount budget);
[[nodiscard]] std::string trace_line(const std::string& name, const Trace& trace);
// One cell in a line, for progress.
[[nodiscard]] std::string cell_line(const ComparedCell& cell);
// Policies down, budgets across; then where Holdfast stands. With `details`, every figure;
// with `blocks`, bars of Unicode.
[[nodiscard]] std::string tables(const std::vector<ComparedCell>& cells, bool details, bool blocks);
[[nodiscard]] std::string cells_json(const std::vector<ComparedCell>& cells);

}  // namespace holdfast::policy
