// POST /v1/chat/completions, /v1/completions and llama-server's /completion, streamed and whole.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/answer_context.h"
#include "api/http_server.h"

namespace holdfast::api {

boost::asio::awaitable<void> answer_chat(AnswerContext context, const HttpRequest& request,
                                         HttpResponder& responder);
// OpenAI's shape at /v1/completions, and llama-server's own at /completion and /completions.
boost::asio::awaitable<void> answer_text(AnswerContext context, const HttpRequest& request,
                                         HttpResponder& responder);

}  // namespace holdfast::api
