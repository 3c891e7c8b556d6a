// What caches would have reused of traces of requests: every policy that was asked for, on every
// trace, with every model's states, under every budget.
#pragma once

#include <string>

#include "base/result.h"
#include "policy/options.h"

namespace holdfast::policy {

// What is to be printed; `blocks`: with bars of Unicode. With `progress`, standard error gets a
// line for each cell when it is done.
[[nodiscard]] Result<std::string> compare(const Options& options, bool blocks, bool progress);

}  // namespace holdfast::policy
