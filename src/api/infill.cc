#include "api/infill.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/answer.h"
#include "api/json_fields.h"
#include "api/native_answer.h"
#include "api/openai_errors.h"
#include "api/openai_fields.h"

namespace holdfast::api {
namespace {

// --- reading the request -----------------------------------------------------------

ExtraFile read_file(const JsonFields& fields) {
  ExtraFile file;
  file.text = required_text(fields, "text");
  file.name = fields.text("filename").value_or(file.name);
  return file;
}

std::vector<ExtraFile> read_extra(const JsonFields& body) {
  std::vector<ExtraFile> extra;
  const Json* files = body.array("input_extra");
  for (std::size_t i = 0; files != nullptr && i < files->size(); ++i) {
    if (const auto fields = body.element(*files, "input_extra", i))
      extra.push_back(read_file(*fields));
  }
  return extra;
}

// --- the prompt --------------------------------------------------------------------

void append(Tokens& tokens, const Tokens& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
}

Tokens words(const engine::TextModel& text, const std::string& spelt) {
  return text.tokenize(spelt, false, false);
}

// Where the vocabulary has no token between files, this text stands there.
void append_file(const engine::TextModel& text, const ExtraFile& file, Tokens& tokens) {
  if (const auto separator = text.card().fill.file) {
    tokens.push_back(*separator);
    append(tokens, words(text, file.name + "\n"));
  } else {
    append(tokens, words(text, "\n\n--- snippet ---\n\n"));
  }
  append(tokens, words(text, file.text));
}

Tokens files_before(const engine::TextModel& text, const std::vector<ExtraFile>& extra) {
  const engine::FillTokens& fill = text.card().fill;
  Tokens tokens;
  if (fill.repository) {
    tokens.push_back(*fill.repository);
    append(tokens, words(text, "myproject\n"));
  }
  for (const ExtraFile& file : extra) append_file(text, file, tokens);
  if (fill.file) {
    tokens.push_back(*fill.file);
    append(tokens, words(text, "filename\n"));
  }
  return tokens;
}

Tokens last_of(Tokens tokens, TokenPos most) {
  const TokenPos surplus = length_of(tokens) - std::max<TokenPos>(most, 0);
  if (surplus > 0) tokens.erase(tokens.begin(), tokens.begin() + surplus);
  return tokens;
}

Tokens first_of(Tokens tokens, TokenPos most) {
  tokens.resize(static_cast<std::size_t>(std::clamp<TokenPos>(most, 0, length_of(tokens))));
  return tokens;
}

Error not_trained(const engine::FillTokens& fill) {
  std::string missing;
  if (!fill.prefix) missing += " prefix";
  if (!fill.suffix) missing += " suffix";
  if (!fill.middle) missing += " middle";
  return {ErrorCode::kUnsupported,
          "This model cannot fill in the middle: its vocabulary has no token for:" + missing + ".",
          ""};
}

Result<ReadyRequest> read_infill(const Asking& asking) {
  const Backend& backend = asking.backend;
  auto request = decode_infill_request(asking.http.body, backend.defaults);
  if (!request) return request.error();
  auto prompt =
      infill_prompt(*backend.text, *request,
                    {backend.context_tokens, backend.batch_tokens, backend.defaults.max_tokens});
  if (!prompt) return prompt.error();
  request->native.text.prompts = {std::move(*prompt)};
  return ready_native(asking, std::move(request->native));
}

constexpr Protocol kInfill{"cmpl-", &read_infill, &error_response};

}  // namespace

Result<InfillRequest> decode_infill_request(std::string_view json, const ChatDefaults& defaults) {
  Result<Json> body = parse_json(json);
  if (!body) return body.error();
  if (!body->is_object()) return invalid_argument("", "the request must be a JSON object");
  FirstError error;
  const JsonFields fields(*body, "", error);
  InfillRequest request;
  request.prefix = required_text(fields, "input_prefix");
  request.suffix = required_text(fields, "input_suffix");
  request.typed = fields.text("prompt").value_or("");
  request.extra = read_extra(fields);
  if (!error.empty()) return error.get();
  for (const char* name : {"input_prefix", "input_suffix", "input_extra"}) body->erase(name);
  (*body)["prompt"] = "";
  auto native = decode_native_request(json_text(*body), defaults);
  if (!native) return native.error();
  request.native = std::move(*native);
  return request;
}

Result<Tokens> infill_prompt(const engine::TextModel& text, const InfillRequest& request,
                             const InfillRoom& room) {
  const engine::FillTokens& fill = text.card().fill;
  if (!fill.prefix || !fill.suffix || !fill.middle) return not_trained(fill);
  const Tokens typed = text.tokenize(request.typed, false, true);
  const TokenPos quarter = room.batch / 4;
  Tokens prompt =
      last_of(files_before(text, request.extra), room.context - room.batch - 2 * room.answer);
  if (fill.begin) prompt.push_back(*fill.begin);
  prompt.push_back(*fill.prefix);
  append(prompt, last_of(words(text, request.prefix), 3 * quarter));
  append(prompt, typed);
  prompt.push_back(*fill.suffix);
  append(prompt, first_of(words(text, request.suffix), quarter - (2 + length_of(typed))));
  prompt.push_back(*fill.middle);
  return prompt;
}

boost::asio::awaitable<void> answer_infill(AnswerContext context, const HttpRequest& request,
                                           HttpResponder& responder) {
  return answer(std::move(context), kInfill, request, responder);
}

}  // namespace holdfast::api
