// The settings of a generation, in llama-server's names: what /completion answers with as
// "generation_settings", and /props shows of the defaults.
#pragma once

#include <string>
#include <vector>

#include "api/openai_request.h"

namespace holdfast::api {

// Appends an object. `end_tokens`: those that may not be sampled with ignore_eos.
void append_generation_settings(std::string& out, const CompletionOptions& options,
                                const std::string& companion,
                                const std::vector<Token>& end_tokens = {});

}  // namespace holdfast::api
