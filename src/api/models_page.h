// GET /v1/models and /v1/models/NAME.
//
// OpenAI's shape with llama-server's `meta` and `status` and Codex's `models` beside it, or
// Anthropic's for clients that send `anthropic-version`:
//   {"data":[{"type":"model","id","display_name","created_at"}],"has_more","first_id","last_id"}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/backend.h"
#include "api/http_server.h"

namespace holdfast::api {

// What the model is called, the name that responses have first.
[[nodiscard]] std::vector<std::string> model_names(const Backend& backend);

[[nodiscard]] HttpResponse list_models(const Backend& backend, const HttpRequest& request,
                                       const std::string& key_name);
// `id` as it stands in the path; any of the model's names.
[[nodiscard]] HttpResponse show_model(const Backend& backend, const HttpRequest& request,
                                      std::string_view id);

}  // namespace holdfast::api
