#include "api/messages.h"

#include "api/answer.h"
#include "api/anthropic_errors.h"
#include "api/anthropic_request.h"
#include "api/anthropic_style.h"
#include "api/json_fields.h"
#include "api/quoted_chat.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

// As with Anthropic, a request that does not ask for thoughts gets none, unless the
// server was started to think where requests are silent.
Result<ChatRequest> decode(const Backend& backend, const HttpRequest& http) {
  auto request = decode_messages_request(http.body, backend.defaults);
  if (!request) return request.error();
  if (!request->input.enable_thinking && !backend.enable_thinking)
    request->input.enable_thinking = false;
  return request;
}

Result<ReadyRequest> read_message(const Asking& asking) {
  auto request = decode(asking.backend, asking.http);
  if (!request) return request.error();
  auto prepared = prepare_chat(asking.backend, *request, asking.space_for(request->options));
  if (!prepared) return prepared.error();
  return ReadyRequest{std::move(request->options), std::move(*prepared), &make_message_style};
}

constexpr Protocol kMessages{"msg_", &read_message, &anthropic_error_response};

}  // namespace

asio::awaitable<void> answer_messages(AnswerContext context, const HttpRequest& request,
                                      HttpResponder& responder) {
  return answer(std::move(context), kMessages, request, responder);
}

HttpResponse count_message_tokens(const Backend& backend, const HttpRequest& request) {
  auto chat = decode(backend, request);
  if (!chat) return anthropic_error_response(chat.error());
  const auto rendered = render_chat(backend, chat->input);
  if (!rendered) return anthropic_error_response(rendered.error());
  const Tokens tokens = backend.text->tokenize_prompt(rendered->prompt, true, rendered->literal);
  HttpResponse response;
  ObjectWriter(response.body).integer("input_tokens", length_of(tokens));
  return response;
}

}  // namespace holdfast::api
