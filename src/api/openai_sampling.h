// The sampling fields of an OpenAI request, and llama-server's beside them.
#pragma once

#include "api/json_fields.h"
#include "api/openai_request.h"
#include "engine/sampling.h"

namespace holdfast::api {

// The server's defaults, with what the request says in their place. Logprobs,
// grammar and JSON schema are not read here.
[[nodiscard]] engine::SamplingParams read_sampling(const JsonFields& body,
                                                   const ChatDefaults& defaults);

}  // namespace holdfast::api
