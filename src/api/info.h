// The endpoints that answer at once: health, props, slots, tokens, templates.
#pragma once

#include "api/access.h"
#include "api/backend.h"
#include "api/http_server.h"

namespace holdfast::api {

// GET /api/hello: Claude Code looks whether anybody is there.
[[nodiscard]] HttpResponse hello();
// 200 if requests are answered; 503 with a reason while the model loads, or if the scheduler or the
// worker that prepares requests is stuck. `worker_ms`: since when the worker has not come to
// anything new. Told to everybody, so it names no request.
[[nodiscard]] HttpResponse health(const BackendSlot& slot, double worker_ms = 0.0);
[[nodiscard]] HttpResponse show_props(const Backend& backend);
// Nothing of a running server can be set. Where --props asks for the endpoint, a body that sets
// nothing is answered as llama-server does it.
[[nodiscard]] HttpResponse change_props(const Backend& backend, const HttpRequest& request);
// All slots; a key that does not see all gets those that work for it.
[[nodiscard]] HttpResponse list_slots(const Backend& backend, const Asker& asker);
[[nodiscard]] HttpResponse tokenize(const Backend& backend, const HttpRequest& request);
[[nodiscard]] HttpResponse detokenize(const Backend& backend, const HttpRequest& request);
// POST /v1/chat/completions/input_tokens: how long the prompt of a chat is.
[[nodiscard]] HttpResponse count_chat_tokens(const Backend& backend, const HttpRequest& request);
[[nodiscard]] HttpResponse apply_template(const Backend& backend, const HttpRequest& request);
// A note for programs and people who open the server's address and do not get the page
// (web_page.h); it says why there is none.
enum class PageState { kShown, kOff, kNotBuilt };
[[nodiscard]] HttpResponse welcome_page(const BackendSlot& slot, PageState page);

}  // namespace holdfast::api
