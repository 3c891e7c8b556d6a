// What the tree and the plan cost, without an engine.
#pragma once

#include <cstddef>

#include "cost_report.h"
#include "state/tokens.h"

namespace holdfast::bench {

struct TreeSetting {
  std::size_t nodes = 100'000;
  TokenPos prompt_tokens = 100'000;
  int samples = 1000;
  unsigned seed = 1;
};

// (a) how a prompt is matched and its start planned, and (b) how room is made.
void measure_tree(const TreeSetting& setting, Report& report);

}  // namespace holdfast::bench
