#include "api/responses_pages.h"

#include <memory>
#include <utility>

#include "api/access.h"
#include "api/answer.h"
#include "api/json_fields.h"
#include "api/openai_errors.h"
#include "api/responses_request.h"
#include "api/responses_store.h"
#include "api/responses_style.h"
#include "api/worker.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

Result<ResponsesRequest> decode(const Asking& asking) {
  ResponseStore& store = *asking.backend.responses;
  StoredTalk stored;
  stored.conversation = [&](const std::string& id,
                            const std::string& salt) -> std::optional<std::string> {
    const auto response = store.find(tenant_name(asking.key_name, salt), id);
    if (response == nullptr) return std::nullopt;
    return response->items_json;
  };
  stored.item = [&](const std::string& id, const std::string& salt) {
    return store.find_item(tenant_name(asking.key_name, salt), id);
  };
  return decode_responses_request(asking.http.body, asking.backend.defaults, stored);
}

// Errors name the field that the client sent.
Result<Prepared> prepare(const Asking& asking, const ResponsesRequest& request) {
  auto prepared =
      prepare_chat(asking.backend, request.chat, asking.space_for(request.chat.options));
  if (!prepared) {
    Error error = prepared.error();
    if (error.param == "messages") error.param = "input";
    return error;
  }
  for (PreparedChoice& choice : prepared->choices) choice.request.prompt_field = "input";
  if (prepared->too_long) prepared->too_long->param = "input";
  return prepared;
}

Result<ReadyRequest> read(const Asking& asking) {
  auto decoded = decode(asking);
  if (!decoded) return decoded.error();
  auto prepared = prepare(asking, *decoded);
  if (!prepared) return prepared.error();
  const auto request = std::make_shared<const ResponsesRequest>(std::move(*decoded));
  const std::string tenant = tenant_name(asking.key_name, request->chat.options.cache_salt);
  const MakeStyle make = [request, tenant](AnswerUnderWay& answer) {
    return std::make_unique<ResponsesStyle>(answer, *request, tenant);
  };
  return ReadyRequest{request->chat.options, std::move(*prepared), make};
}

constexpr Protocol kResponses{"resp_", &read, &error_response};

HttpResponse count_page(const Asking& asking) {
  const auto decoded = decode(asking);
  if (!decoded) return error_response(decoded.error());
  const auto prepared = prepare(asking, *decoded);
  if (!prepared) return error_response(prepared.error());
  if (prepared->too_long) {
    const ContextOverflow overflow{prepared->tokens_at_least, asking.backend.context_tokens, true};
    return error_response(*prepared->too_long, overflow);
  }
  std::string json;
  {
    ObjectWriter body(json);
    body.text("object", "response.input_tokens");
    body.integer("input_tokens", length_of(prepared->choices.front().request.prompt));
  }
  return {.body = std::move(json)};
}

std::string tenant_of(const HttpRequest& request, const std::string& key_name) {
  return tenant_name(key_name, request.query_value("cache_salt"));
}

HttpResponse no_such_response(const std::string& id) {
  return error_response(not_stored("response", id, "response_id"));
}

}  // namespace

asio::awaitable<void> answer_response(AnswerContext context, const HttpRequest& request,
                                      HttpResponder& responder) {
  return answer(std::move(context), kResponses, request, responder);
}

asio::awaitable<void> count_input_tokens(AnswerContext context, const HttpRequest& request,
                                         HttpResponder& responder) {
  const auto count = [&] { return count_page({*context.backend, request, context.key_name}); };
  HttpResponse page = co_await on_worker(context.worker, count);
  co_await responder.send(std::move(page));
}

HttpResponse show_response(const Backend& backend, const HttpRequest& request,
                           const std::string& key_name, const std::string& id) {
  const auto stored = backend.responses->find(tenant_of(request, key_name), id);
  if (stored == nullptr) return no_such_response(id);
  return {.body = stored->response_json};
}

HttpResponse delete_response(const Backend& backend, const HttpRequest& request,
                             const std::string& key_name, const std::string& id) {
  if (!backend.responses->remove(tenant_of(request, key_name), id)) return no_such_response(id);
  std::string json;
  {
    ObjectWriter body(json);
    body.text("id", id);
    body.text("object", "response");
    body.raw("deleted", "true");
  }
  return {.body = std::move(json)};
}

}  // namespace holdfast::api
