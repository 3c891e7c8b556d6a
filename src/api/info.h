// The endpoints that answer at once: models, health, props, slots, tokens, templates.
#pragma once

#include "api/backend.h"
#include "api/http_server.h"

namespace holdfast::api {

[[nodiscard]] HttpResponse health(const BackendSlot& slot);
[[nodiscard]] HttpResponse list_models(const Backend& backend);
// `id` as it stands in the path; any of the model's names.
[[nodiscard]] HttpResponse show_model(const Backend& backend, std::string_view id);
[[nodiscard]] HttpResponse show_props(const Backend& backend);
[[nodiscard]] HttpResponse list_slots(const Backend& backend);
[[nodiscard]] HttpResponse tokenize(const Backend& backend, const HttpRequest& request);
[[nodiscard]] HttpResponse detokenize(const Backend& backend, const HttpRequest& request);
[[nodiscard]] HttpResponse apply_template(const Backend& backend, const HttpRequest& request);
// A page for people who open the server's address in a browser.
[[nodiscard]] HttpResponse welcome_page(const BackendSlot& slot);

}  // namespace holdfast::api
