// What keeping states costs and saves, on a real engine.
#pragma once

#include <string>

#include "base/result.h"
#include "cost_report.h"
#include "state/tokens.h"

namespace holdfast::bench {

struct StateSetting {
  std::string model;
  TokenPos tokens = 8192;
  int rounds = 5;
  int threads = 0;
  // Use one engine thread, and measure its CPU time instead of the time that has passed: for
  // machines that others use too.
  bool thread_time = false;
  TokenPos grid_step = 256;
  unsigned seed = 1;
};

// (c) A new prompt, read in turn with a budget of 0 and with an ample one (a checkpoint at every
// cut).
[[nodiscard]] Result<void> measure_prefill(const StateSetting& setting, Report& report);

// (d) The first token of a prompt whose beginning is in memory, and of one that is
// still live, beside what the hardware allows; (e) the bytes held for it.
[[nodiscard]] Result<void> measure_second_query(const StateSetting& setting, Report& report);

}  // namespace holdfast::bench
