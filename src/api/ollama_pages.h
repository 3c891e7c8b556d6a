// What Ollama's clients ask about the server and its model: GET /api/version, /api/tags, /api/ps
// and POST /api/show.
#pragma once

#include "api/backend.h"
#include "api/http_server.h"

namespace holdfast::api {

// The version of Ollama whose API this is: clients ask for features by it. With our build beside
// it.
[[nodiscard]] HttpResponse show_ollama_version(const Backend& backend);
// The one model, under each of its names.
[[nodiscard]] HttpResponse list_ollama_models(const Backend& backend);
// The same as running: it never leaves.
[[nodiscard]] HttpResponse list_running_models(const Backend& backend);
// By name, with or without ":latest"; 404 for others.
[[nodiscard]] HttpResponse show_ollama_model(const Backend& backend, const HttpRequest& request);

}  // namespace holdfast::api
