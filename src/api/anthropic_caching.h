// Whether a Messages request marks what is to be cached.
//
// Here everything is cached, marked or not. The mark only decides what the answer's usage says, as
// it does at Anthropic:
//
//   cache_read_input_tokens       of the prompt, not computed again
//   cache_creation_input_tokens   computed, and kept in memory for later requests: up to the last
//                                 checkpoint. 0 for a request without any mark
//   input_tokens                  the rest: computed, and where there is no mark all of that
//
// Together they are the prompt.
#pragma once

#include "api/json_fields.h"

namespace holdfast::api {

// A `cache_control` that is not null, in the body itself, in a tool, or in a block of the system
// prompt, of a message or of a tool's result. Not in the schemas of tools and in what they were
// called with, where the name is somebody else's.
[[nodiscard]] bool marks_caching(const JsonFields& body);

}  // namespace holdfast::api
