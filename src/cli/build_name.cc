#include "cli/build_name.h"

#include "cli/build_id.h"
#include "cli/version.h"

namespace holdfast::cli {

std::string program_version() { return HOLDFAST_VERSION; }

std::string build_id() { return HOLDFAST_BUILD_ID; }

std::string build_name() { return "holdfast " + program_version() + " (" + build_id() + ")"; }

}  // namespace holdfast::cli
