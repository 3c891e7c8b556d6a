// From a request for the model to its answer, in any protocol.
//
//   worker thread   Protocol::read: decode, render, tokenise, compile the grammar
//   I/O thread      submit; then letters of the mailbox -> ChoiceReader -> AnswerStyle
//
// A new protocol is one Protocol and one AnswerStyle.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/answer_context.h"
#include "api/answer_style.h"
#include "api/answer_under_way.h"
#include "api/context_overflow.h"
#include "api/generation.h"
#include "api/http_server.h"

namespace holdfast::api {

// Called once on the I/O thread; the answer outlives the style.
using MakeStyle = std::function<std::unique_ptr<AnswerStyle>(AnswerUnderWay&)>;

// A request, ready to be submitted.
struct ReadyRequest {
  CompletionOptions options;
  Prepared prepared;
  MakeStyle make_style;
};

// Who asks for what, as the worker needs it.
struct Asking {
  const Backend& backend;
  const HttpRequest& http;
  const std::string& key_name;  // Asker::key_name

  // Which states the generations may use and add to.
  [[nodiscard]] SpaceKey space_for(const CompletionOptions& options) const;
};

struct Protocol {
  const char* id_prefix;  // of the answers' ids: "chatcmpl-"
  // Worker thread. No exceptions.
  Result<ReadyRequest> (*read)(const Asking& asking);
  // An error instead of an answer, with its status. `overflow` belongs to
  // kContextExceeded.
  HttpResponse (*refuse)(const Error& error, const std::optional<ContextOverflow>& overflow);
};

// `protocol` outlives the coroutine.
boost::asio::awaitable<void> answer(AnswerContext context, const Protocol& protocol,
                                    const HttpRequest& request, HttpResponder& responder);

}  // namespace holdfast::api
