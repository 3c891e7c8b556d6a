#include "plan/run_cuts.h"

#include <algorithm>

#include "plan/cuts.h"

namespace holdfast::plan {

namespace {

void insert(std::vector<TokenPos>& cuts, TokenPos cut) {
  const auto at = std::ranges::lower_bound(cuts, cut);
  if (at == cuts.end() || *at != cut) cuts.insert(at, cut);
}

// The end of the header instead of the cut before it, where one chunk can hold both.
void move_to_header_end(std::vector<TokenPos>& cuts, const RunCutsInput& input) {
  const TokenPos header_end = *input.header_end;
  const bool last_is_before_header =
      !cuts.empty() && cuts.back() < header_end && header_end - cuts.back() < kJunctionWorth;
  if (last_is_before_header) {
    const TokenPos before = cuts.size() > 1 ? cuts[cuts.size() - 2] : input.begin;
    if (header_end - before <= input.chunk_max) cuts.pop_back();
  }
  insert(cuts, header_end);
}

// Cuts that stay cuts, whatever lies beside them.
std::vector<TokenPos> needed_cuts(std::span<const TokenPos> cuts, const RunCutsInput& input) {
  std::vector<TokenPos> needed = {input.system_end};
  if (input.system_end == 0 && !input.grid.empty()) needed.push_back(input.grid.front());
  if (input.junction) needed.push_back(floor_of(cuts, *input.junction));
  if (input.header_end) needed.push_back(*input.header_end);
  if (input.begin > 0) needed.push_back(cuts.front());
  needed.push_back(floor_of(input.grid, input.prompt_length - 1));
  needed.push_back(cuts.back());
  return needed;
}

// Left to right, as many chunks in one as it may hold.
void merge_chunks(std::vector<TokenPos>& cuts, const RunCutsInput& input) {
  if (cuts.empty() || input.merged_max == 0) return;
  const std::vector<TokenPos> needed = needed_cuts(cuts, input);
  TokenPos last = input.begin;
  auto out = cuts.begin();
  for (auto cut = cuts.begin(); cut != cuts.end(); ++cut) {
    const bool stays = std::ranges::find(needed, *cut) != needed.end();
    if (!stays && *(cut + 1) - last <= input.merged_max) continue;
    *out++ = last = *cut;
  }
  cuts.erase(out, cuts.end());
}

}  // namespace

std::vector<TokenPos> run_cuts(const RunCutsInput& input) {
  const auto first = std::ranges::upper_bound(input.grid, input.begin);
  std::vector<TokenPos> cuts(first, input.grid.end());
  if (!cuts.empty() && cuts.back() == input.prompt_length) cuts.pop_back();
  const auto inside = [&](std::optional<TokenPos> position) {
    return position && *position > input.begin && *position < input.prompt_length;
  };
  if (inside(input.header_end)) move_to_header_end(cuts, input);
  if (inside(input.junction)) {
    const TokenPos before = std::max(floor_of(cuts, *input.junction), input.begin);
    if (*input.junction - before >= kJunctionWorth) insert(cuts, *input.junction);
  }
  merge_chunks(cuts, input);
  return cuts;
}

}  // namespace holdfast::plan
