// Objects that OpenAI's whole answers and chunks share.
#pragma once

#include <string>
#include <string_view>

#include "api/json_fields.h"
#include "api/openai_response.h"

namespace holdfast::api {

// The fields that every object begins with; `kind` is its "object".
void append_head(ObjectWriter& object, const ReplyHead& head, std::string_view kind);
void append_usage(std::string& out, const Usage& usage);
// As llama-server has them.
void append_timings(std::string& out, const serve::Timings& timings);
void append_progress(std::string& out, const serve::PromptProgress& progress);

}  // namespace holdfast::api
