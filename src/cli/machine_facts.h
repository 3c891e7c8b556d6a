// What the machine is, as the system tells it.
#pragma once

#include "cli/doctor.h"

namespace holdfast::cli {

[[nodiscard]] MachineFacts machine_facts();

// The folder's volume: what is free, and how fast a file of some megabytes is written there and
// read back. The file is gone afterwards. An empty folder, or "off": nothing is measured.
[[nodiscard]] DiskFacts disk_facts(const std::string& folder);

}  // namespace holdfast::cli
