// Answers with vectors and scores: /v1/embeddings, /embeddings, /embedding; /rerank, /reranking.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/answer_context.h"
#include "api/http_server.h"

namespace holdfast::api {

[[nodiscard]] boost::asio::awaitable<void> answer_embeddings(AnswerContext context,
                                                             const HttpRequest& request,
                                                             HttpResponder& responder);
[[nodiscard]] boost::asio::awaitable<void> answer_rerank(AnswerContext context,
                                                         const HttpRequest& request,
                                                         HttpResponder& responder);

}  // namespace holdfast::api
