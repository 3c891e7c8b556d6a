// Where states are kept on disk when the command line does not say so: one answer for the
// server that writes them and for `holdfast cache`.
#pragma once

#include <string>

#include "cli/options.h"

namespace holdfast::cli {

// $HOLDFAST_CACHE_DIR, else $XDG_CACHE_HOME/holdfast/states, else ~/.cache/holdfast/states.
// Variables that are empty count as unset, and so does a relative XDG_CACHE_HOME (its
// specification says so). Empty where none of them is set. "off" is handed on as it is: no
// folder is wanted.
[[nodiscard]] std::string default_cache_dir(const Environment& env);

}  // namespace holdfast::cli
