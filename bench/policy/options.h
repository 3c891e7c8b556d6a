// What `holdfast-policy` is asked for on its command line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/machine.h"
#include "policy/model_shape.h"
#include "policy/trace.h"
#include "policy/workload.h"

namespace holdfast::policy {

struct Options {
  std::vector<std::string> policies = {};  // names of known_policies()
  std::vector<std::string> traces = {};
  std::vector<ByteCount> budgets = {};  // kUnlimited: no limit
  std::vector<ModelShape> models = {};
  bool budgets_given = false;
  bool models_given = false;
  std::vector<Outputs> outputs = {};
  Machine machine = known_machines().front();
  TraceOptions trace = {};
  bool details = false;
  bool json = false;
  bool show_help = false;
};

// An Error is one sentence. --help wins over whatever else is missing.
[[nodiscard]] Result<Options> parse_options(std::span<const std::string> args);
[[nodiscard]] std::string help_text(int width = 80);

}  // namespace holdfast::policy
