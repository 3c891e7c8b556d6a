// POST /v1/chat/completions/control: tells an answer that is being written what to do.
//
//   {"id": "chatcmpl-...", "action": "reasoning_end"} -> {"success": true}
//
// The request of that answer had "reasoning_control": true. Where nothing comes of it, "success" is
// false and "message" says why, with status 200, as in llama-server. Only whoever asked for the
// answer, by key and cache_salt, can tell it anything.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/answer_context.h"
#include "api/http_server.h"

namespace holdfast::api {

boost::asio::awaitable<void> answer_control(AnswerContext context, const HttpRequest& request,
                                            HttpResponder& responder);

}  // namespace holdfast::api
