// POST /v1/chat/completions and /v1/completions, streamed and whole.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/answer_context.h"
#include "api/http_server.h"

namespace holdfast::api {

boost::asio::awaitable<void> answer_chat(AnswerContext context, const HttpRequest& request,
                                         HttpResponder& responder);
boost::asio::awaitable<void> answer_text(AnswerContext context, const HttpRequest& request,
                                         HttpResponder& responder);

}  // namespace holdfast::api
