// The model as Codex wants to see it listed: beside OpenAI's `data`, in `models`.
#pragma once

#include "api/backend.h"
#include "api/json_fields.h"

namespace holdfast::api {

// One entry for each name of the model. Without such a list Codex assumes a context of
// 272,000 tokens for models that it does not know, and fills it.
[[nodiscard]] Json codex_models(const Backend& backend);

}  // namespace holdfast::api
