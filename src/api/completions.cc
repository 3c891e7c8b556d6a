#include "api/completions.h"

#include "api/answer.h"
#include "api/client_envelope.h"
#include "api/native_answer.h"
#include "api/native_request.h"
#include "api/openai_errors.h"
#include "api/openai_style.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

Result<ReadyRequest> read_chat(const Asking& asking) {
  auto request = decode_chat_request(asking.http.body, asking.backend.defaults);
  if (!request) return request.error();
  auto prepared = prepare_chat(asking.backend, *request, asking.space_for(request->options));
  if (!prepared) return prepared.error();
  return ReadyRequest{std::move(request->options), std::move(*prepared), &make_chat_style};
}

Result<ReadyRequest> read_text(const Asking& asking) {
  auto request = decode_text_request(asking.http.body, asking.backend.defaults);
  if (!request) return request.error();
  auto prepared = prepare_text(asking.backend, *request, asking.space_for(request->options));
  if (!prepared) return prepared.error();
  return ReadyRequest{std::move(request->options), std::move(*prepared), &make_text_style};
}

Result<ReadyRequest> read_native(const Asking& asking) {
  auto request = decode_native_request(asking.http.body, asking.backend.defaults);
  if (!request) return request.error();
  return ready_native(asking, std::move(*request));
}

constexpr Protocol kChat{"chatcmpl-", &read_chat, &error_response};
constexpr Protocol kText{"cmpl-", &read_text, &error_response};
constexpr Protocol kNative{"cmpl-", &read_native, &error_response};

}  // namespace

asio::awaitable<void> answer_chat(AnswerContext context, const HttpRequest& request,
                                  HttpResponder& responder) {
  return answer(std::move(context), kChat, request, responder);
}

asio::awaitable<void> answer_text(AnswerContext context, const HttpRequest& request,
                                  HttpResponder& responder) {
  const bool versioned = without_version(request.path).size() < request.path.size();
  return answer(std::move(context), versioned ? kText : kNative, request, responder);
}

}  // namespace holdfast::api
