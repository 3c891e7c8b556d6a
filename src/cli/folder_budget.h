// How much a folder of the server may hold.
#pragma once

#include <cstdint>
#include <string>

#include "state/tokens.h"

namespace holdfast::cli {

// `mib` mebibytes; if it is negative, a tenth of what is free there, what the folder holds already
// included, in whole mebibytes. The folder need not exist.
[[nodiscard]] ByteCount folder_budget(const std::string& folder, std::int64_t mib);

}  // namespace holdfast::cli
