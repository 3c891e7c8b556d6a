// POST /infill: what stands between two pieces of code, for editors (llama.vim, llama.vscode).
//
// The prompt is in llama-server's order, so that what changes from one key stroke
// to the next stands last and the rest is reused:
//
//   [REPO]myproject [FILE]name of an extra file, its text ... [FILE]filename
//   [PREFIX]text before the cursor, what was typed [SUFFIX]text after it [MIDDLE]
//
// Of the text before the cursor the last three quarters of a batch are taken, of that after it the
// first quarter, and of the extra files what the context has room for.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer_context.h"
#include "api/http_server.h"
#include "api/native_request.h"

namespace holdfast::api {

struct ExtraFile {
  std::string name = "tmp";
  std::string text;
};

struct InfillRequest {
  NativeRequest native;  // without a prompt
  std::string prefix;
  std::string suffix;
  std::string typed;  // since `prefix` was taken
  std::vector<ExtraFile> extra;
};

[[nodiscard]] Result<InfillRequest> decode_infill_request(std::string_view json,
                                                          const ChatDefaults& defaults);

struct InfillRoom {
  TokenPos context = 0;
  TokenPos batch = 0;
  TokenPos answer = -1;  // that the server allows by default; -1: any
};

// An Error where the model was not trained for it.
[[nodiscard]] Result<Tokens> infill_prompt(const engine::TextModel& text,
                                           const InfillRequest& request, const InfillRoom& room);

boost::asio::awaitable<void> answer_infill(AnswerContext context, const HttpRequest& request,
                                           HttpResponder& responder);

}  // namespace holdfast::api
