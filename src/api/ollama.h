// Ollama's endpoints that use the model: POST /api/chat and /api/generate, streamed in lines of
// JSON and whole. /api/embed and /api/embeddings are in embeddings.h.
//
// Same slots, same cache, same receipts as every other protocol: a conversation that was begun in
// one goes on in another.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/answer_context.h"
#include "api/http_server.h"

namespace holdfast::api {

boost::asio::awaitable<void> answer_ollama_chat(AnswerContext context, const HttpRequest& request,
                                                HttpResponder& responder);
boost::asio::awaitable<void> answer_ollama_generate(AnswerContext context,
                                                    const HttpRequest& request,
                                                    HttpResponder& responder);

}  // namespace holdfast::api
