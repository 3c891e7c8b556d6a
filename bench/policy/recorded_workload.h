// A recording as a workload, so that other caches can be tried on the same traffic
// (`holdfast-policy --policy ... FILE`). What clients did with answers is known here.
#pragma once

#include <string>

#include "base/result.h"
#include "policy/model_shape.h"
#include "policy/workload.h"

namespace holdfast::policy {

struct RecordedWorkload {
  Workload workload;
  ModelShape model;      // of the recorded server
  ByteCount budget = 0;  // likewise
};

[[nodiscard]] bool is_recording(const std::string& path);
// An Error names the file.
[[nodiscard]] Result<RecordedWorkload> recorded_workload(const std::string& path);

}  // namespace holdfast::policy
