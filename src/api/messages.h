// Anthropic's endpoints: POST /v1/messages, streamed and whole, and
// POST /v1/messages/count_tokens.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/answer_context.h"
#include "api/http_server.h"

namespace holdfast::api {

boost::asio::awaitable<void> answer_messages(AnswerContext context, const HttpRequest& request,
                                             HttpResponder& responder);
// How many tokens the prompt of such a request has: {"input_tokens"}. Worker thread.
[[nodiscard]] HttpResponse count_message_tokens(const Backend& backend, const HttpRequest& request);

}  // namespace holdfast::api
