// OpenAI's Responses API: POST /v1/responses and /v1/responses/input_tokens, GET and
// DELETE /v1/responses/{id}.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "api/answer_context.h"
#include "api/http_server.h"

namespace holdfast::api {

boost::asio::awaitable<void> answer_response(AnswerContext context, const HttpRequest& request,
                                             HttpResponder& responder);
// How many tokens the prompt of such a request has.
boost::asio::awaitable<void> count_input_tokens(AnswerContext context, const HttpRequest& request,
                                                HttpResponder& responder);

// A stored response. It is found with the key that made it and, as a parameter of the query,
// its cache_salt.
[[nodiscard]] HttpResponse show_response(const Backend& backend, const HttpRequest& request,
                                         const std::string& key_name, const std::string& id);
[[nodiscard]] HttpResponse delete_response(const Backend& backend, const HttpRequest& request,
                                           const std::string& key_name, const std::string& id);

}  // namespace holdfast::api
