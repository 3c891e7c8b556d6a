#include "plan/run_cuts.h"

#include <algorithm>

#include "plan/cuts.h"

namespace holdfast {

namespace {

void insert(std::vector<TokenPos>& cuts, TokenPos cut) {
  const auto place = std::ranges::lower_bound(cuts, cut);
  if (place == cuts.end() || *place != cut) cuts.insert(place, cut);
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

// Left to right, as many chunks in one as it may hold.
void merge_chunks(std::vector<TokenPos>& cuts, const RunCutsInput& input) {
  if (cuts.empty()) return;
  const TokenPos junction = input.junction ? floor_of(cuts, *input.junction) : 0;
  TokenPos last = input.begin;
  auto out = cuts.begin();
  for (auto cut = cuts.begin(); cut + 1 != cuts.end(); ++cut) {
    const bool needed = *cut == junction || *cut == input.system_end;
    if (!needed && *(cut + 1) - last <= input.merged_max) continue;
    *out++ = last = *cut;
  }
  *out++ = cuts.back();
  cuts.erase(out, cuts.end());
}

}  // namespace

std::vector<TokenPos> run_cuts(const RunCutsInput& input) {
  const auto first = std::ranges::upper_bound(input.grid, input.begin);
  std::vector<TokenPos> cuts(first, input.grid.end());
  if (!cuts.empty() && cuts.back() == input.prompt_length) cuts.pop_back();
  const auto inside = [&](std::optional<TokenPos> place) {
    return place && *place > input.begin && *place < input.prompt_length;
  };
  if (inside(input.header_end)) move_to_header_end(cuts, input);
  if (inside(input.junction)) {
    const TokenPos before = std::max(floor_of(cuts, *input.junction), input.begin);
    if (*input.junction - before >= kJunctionWorth) insert(cuts, *input.junction);
  }
  merge_chunks(cuts, input);
  return cuts;
}

}  // namespace holdfast
