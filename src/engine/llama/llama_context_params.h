// Translates our settings into the library's parameters.
#pragma once

#include <llama.h>

#include <string>

#include "base/result.h"
#include "engine/llama/llama_config.h"

namespace holdfast::llama {

[[nodiscard]] Result<ggml_type> cache_type_from_name(const std::string& name,
                                                     const std::string& flag);

// Parameters for a context of `config.slots` streams of `config.context_tokens`.
[[nodiscard]] Result<llama_context_params> make_context_params(const LlamaConfig& config);

}  // namespace holdfast::llama
