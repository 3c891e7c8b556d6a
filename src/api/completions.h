// POST /v1/chat/completions and /v1/completions, streamed and whole.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "api/backend.h"
#include "api/http_server.h"

namespace holdfast::api {

// What a completion handler works with. The executors outlive it.
struct CompletionContext {
  std::shared_ptr<const Backend> backend;
  boost::asio::any_io_executor io;      // this coroutine's thread
  boost::asio::any_io_executor worker;  // for templates, tokens and grammars
  std::string client;                   // who asks, for fairness
  std::string key_name;                 // ApiKeys::name_of
};

boost::asio::awaitable<void> answer_chat(CompletionContext context, const HttpRequest& request,
                                         HttpResponder& responder);
boost::asio::awaitable<void> answer_text(CompletionContext context, const HttpRequest& request,
                                         HttpResponder& responder);

// An Error as an HTTP answer in OpenAI's shape.
[[nodiscard]] HttpResponse error_response(const Error& error);

}  // namespace holdfast::api
