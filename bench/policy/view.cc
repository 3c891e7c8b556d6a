#include "policy/view.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "cli/text_parts.h"
#include "state/parts.h"

namespace holdfast::policy {

namespace {

std::string percent(double share) { return cli::fixed(100 * share, 2); }

std::string right(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}
std::string left(const std::string& text, std::size_t width) {
  return text.size() >= width ? text + " " : text + std::string(width - text.size(), ' ');
}

std::string bar(double share, bool blocks) {
  constexpr int kWidth = 20;
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth + 0.5);
  std::string text;
  for (int i = 0; i < kWidth; ++i) text += i < full ? (blocks ? "█" : "#") : (blocks ? "░" : ".");
  return text;
}

// Cells that belong in one table.
using Group = std::tuple<std::string, std::string, Outputs>;
Group group_of(const ComparedCell& cell) { return {cell.trace, cell.model, cell.outputs}; }

std::string heading(const ComparedCell& cell) {
  return cell.trace + ", " + cell.model + ", answers " +
         (cell.outputs == Outputs::kKeep ? "kept" : "stripped") + ": " +
         cli::with_commas(static_cast<std::int64_t>(cell.cell.requests)) + " requests, " +
         cli::with_commas(static_cast<std::int64_t>(cell.cell.prompt_tokens)) + " prompt tokens, " +
         percent(cell.cell.oracle_tokens / cell.cell.prompt_tokens) + "% of them seen before\n";
}

template <typename T>
void add_new(std::vector<T>& all, const T& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

const ComparedCell* find_cell(const std::vector<const ComparedCell*>& group,
                              const std::string& policy, ByteCount budget) {
  for (const ComparedCell* cell : group) {
    if (cell->cell.policy == policy && cell->budget == budget) return cell;
  }
  return nullptr;
}

std::string matrix(const std::vector<const ComparedCell*>& group) {
  std::vector<std::string> policies;
  std::vector<ByteCount> budgets;
  for (const ComparedCell* cell : group) {
    add_new(policies, cell->cell.policy);
    add_new(budgets, cell->budget);
  }
  std::string text = left("  eta_c in %", 18);
  for (const ByteCount budget : budgets) text += right(budget_name(budget), 11);
  text += "\n";
  for (const std::string& policy : policies) {
    text += left("  " + policy, 18);
    for (const ByteCount budget : budgets) {
      const ComparedCell* cell = find_cell(group, policy, budget);
      text += right(cell == nullptr ? "" : percent(cell->cell.eta_c()), 11);
    }
    text += "\n";
  }
  return text;
}

std::string rows(const std::vector<const ComparedCell*>& group, bool blocks) {
  std::string text;
  std::optional<ByteCount> budget;
  for (const ComparedCell* at : group) {
    const Cell& cell = at->cell;
    if (budget != at->budget) {
      budget = at->budget;
      text += left("  " + budget_name(*budget), 18) + left(" eta_c", 29) +
              "   eta %   hit %  states/req  written/req   us p50    us p99\n";
    }
    text += left("  " + cell.policy, 18) + bar(cell.eta_c(), blocks) +
            right(percent(cell.eta_c()), 8) + right(percent(cell.eta()), 9) +
            right(percent(cell.hit()), 8);
    if (cell.online) {
      const auto requests = static_cast<double>(cell.requests);
      text += right(cli::fixed(cell.states / requests, 2), 12) +
              right(human_bytes(static_cast<ByteCount>(cell.written_bytes / requests)), 13) +
              right(cli::fixed(cell.us_p50, 0), 9) + right(cli::fixed(cell.us_p99, 0), 10);
    }
    text += "\n";
  }
  return text;
}

bool is_peer(const std::string& name) {
  const auto known = known_policies();
  const auto policy = std::ranges::find(known, name, &KnownPolicy::name);
  return policy != known.end() && policy->peer;
}

// Where Holdfast stands beside the best peer of each cell.
std::string standing(const std::vector<ComparedCell>& cells) {
  std::map<std::tuple<Group, ByteCount>, std::pair<const ComparedCell*, const ComparedCell*>> pairs;
  for (const ComparedCell& cell : cells) {
    auto& [own, peer] = pairs[{group_of(cell), cell.budget}];
    if (cell.cell.policy == "holdfast") own = &cell;
    if (is_peer(cell.cell.policy) && (peer == nullptr || cell.cell.eta_c() > peer->cell.eta_c())) {
      peer = &cell;
    }
  }
  int compared = 0;
  int ahead = 0;
  std::string behind;
  for (const auto& [place, pair] : pairs) {
    const auto& [own, peer] = pair;
    if (own == nullptr || peer == nullptr) continue;
    ++compared;
    const double lead = 100 * (own->cell.eta_c() - peer->cell.eta_c());
    if (lead > 0) ++ahead;
    if (lead >= 0) continue;
    behind += "  " + cli::fixed(lead, 2) + " points behind " + peer->cell.policy + ": " +
              own->trace + ", " + own->model + ", " + outputs_name(own->outputs) + ", " +
              budget_name(own->budget) + "\n";
  }
  if (compared == 0) return {};
  return "Holdfast is ahead of every peer in " + std::to_string(ahead) + " of " +
         std::to_string(compared) + " cells (eta_c).\n" + behind;
}

}  // namespace

std::string budget_name(ByteCount budget) {
  return budget == kUnlimited ? "no limit" : human_bytes(budget);
}

std::string trace_line(const std::string& name, const Trace& trace) {
  std::string line = name + ": " +
                     cli::with_commas(static_cast<std::int64_t>(trace.requests.size())) +
                     " requests";
  if (trace.sessions > 0) {
    line += " of " + cli::with_commas(static_cast<std::int64_t>(trace.sessions)) + " sessions";
  }
  if (trace.dropped > 0) {
    line +=
        "; " + cli::with_commas(static_cast<std::int64_t>(trace.dropped)) + " too long, left out";
  }
  return line;
}

std::string cell_line(const ComparedCell& at) {
  return left(at.cell.policy, 16) + at.trace + " " + at.model + " " + outputs_name(at.outputs) +
         " " + budget_name(at.budget) + ": eta_c " + percent(at.cell.eta_c()) + " eta " +
         percent(at.cell.eta()) + " (" + cli::fixed(at.cell.seconds, 1) + " s)";
}

std::string tables(const std::vector<ComparedCell>& cells, bool details, bool blocks) {
  std::vector<Group> groups;
  for (const ComparedCell& cell : cells) add_new(groups, group_of(cell));
  std::string text;
  for (const Group& group : groups) {
    std::vector<const ComparedCell*> members;
    std::vector<ByteCount> budgets;
    for (const ComparedCell& cell : cells) {
      if (group_of(cell) != group) continue;
      members.push_back(&cell);
      add_new(budgets, cell.budget);
    }
    text += heading(*members.front());
    if (budgets.size() > 1) text += matrix(members);
    if (details || budgets.size() == 1) text += rows(members, blocks);
    text += "\n";
  }
  return text + standing(cells);
}

std::string cells_json(const std::vector<ComparedCell>& cells) {
  nlohmann::json all = nlohmann::json::array();
  for (const ComparedCell& at : cells) {
    const Cell& cell = at.cell;
    nlohmann::json one = {{"trace", at.trace},
                          {"model", at.model},
                          {"outputs", outputs_name(at.outputs)},
                          {"budget_bytes", nullptr},
                          {"policy", cell.policy},
                          {"eta_c", cell.eta_c()},
                          {"eta", cell.eta()},
                          {"hit", cell.hit()},
                          {"requests", cell.requests},
                          {"prompt_tokens", cell.prompt_tokens},
                          {"reused_tokens", cell.reused_tokens},
                          {"oracle_tokens", cell.oracle_tokens},
                          {"seconds", cell.seconds}};
    if (at.budget != kUnlimited) one["budget_bytes"] = at.budget;
    if (cell.online) {
      one["states"] = cell.states;
      one["written_bytes"] = cell.written_bytes;
      one["evictions"] = cell.evictions;
      one["held_bytes_most"] = cell.held_most;
      one["us_p50"] = cell.us_p50;
      one["us_p99"] = cell.us_p99;
    }
    all.push_back(std::move(one));
  }
  return all.dump(2) + "\n";
}

}  // namespace holdfast::policy
