#include "api/control.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/access.h"
#include "api/answered.h"
#include "api/decode_object.h"
#include "api/openai_errors.h"
#include "api/openai_fields.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

struct Control {
  std::string id;
  std::string cache_salt;
};

Control read_control(const JsonFields& body) {
  constexpr std::string_view kActions[] = {"reasoning_end"};
  Control control{required_text(body, "id"), read_cache_salt(body)};
  if (!body.has("action")) body.fail("action", "is required");
  (void)body.choice("action", kActions);
  return control;
}

HttpResponse told(bool success, std::string_view why) {
  HttpResponse response;
  ObjectWriter object(response.body);
  object.raw("success", success ? "true" : "false");
  if (!success) object.text("message", why);
  return response;
}

HttpResponse told_of(const Result<bool>& ended) {
  if (!ended) {
    const bool unknown = ended.error().code == ErrorCode::kNotFound;
    return unknown ? told(false, ended.error().message) : error_response(ended.error());
  }
  return told(*ended,
              "The answer writes no thoughts now, or its request did not have "
              "\"reasoning_control\": true.");
}

}  // namespace

asio::awaitable<void> answer_control(AnswerContext context, const HttpRequest& request,
                                     HttpResponder& responder) {
  HttpResponse response;
  auto control = decode_object<Control>(request.body, read_control);
  if (!control) {
    response = error_response(control.error());
  } else {
    const std::string tenant = tenant_name(context.key_name, control->cache_salt);
    const BeginAsking<bool> begin = [&](serve::Answer<bool> answer) {
      context.backend->scheduler->slot_commands().end_thoughts(control->id, tenant,
                                                               std::move(answer));
    };
    const auto ended = co_await answered<bool>(context.io, begin);
    response = told_of(ended);
  }
  co_await responder.send(std::move(response));
}

}  // namespace holdfast::api
