// The groups of the table of options, as --help shows them; option_table.h has
// them together.
#pragma once

#include "cli/option_table.h"

namespace holdfast::cli {

// option_groups_model.cc: the model and how it runs.
[[nodiscard]] OptionGroup model_group();
[[nodiscard]] OptionGroup context_group();
[[nodiscard]] OptionGroup reuse_group();
[[nodiscard]] OptionGroup speculation_group();
[[nodiscard]] OptionGroup compute_group();
[[nodiscard]] OptionGroup rope_group();

// option_groups_server.cc: the program around it.
[[nodiscard]] OptionGroup server_group();
[[nodiscard]] OptionGroup log_group();

// option_groups_request.cc: what a request gets when it does not say otherwise.
[[nodiscard]] OptionGroup chat_group();
[[nodiscard]] OptionGroup sampling_group();

// option_groups_llama_server.cc: llama-server's, which --help does not show.
[[nodiscard]] OptionGroup no_effect_group();
[[nodiscard]] OptionGroup unsupported_group();

}  // namespace holdfast::cli
