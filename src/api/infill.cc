#include "api/infill.h"

#include <algorithm>
#include <utility>

#include "api/answer.h"
#include "api/decode_object.h"
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

InfillRequest read_infill_request(const JsonFields& body, const ChatDefaults& defaults) {
  InfillRequest request;
  request.prefix = required_text(body, "input_prefix");
  request.suffix = required_text(body, "input_suffix");
  request.typed = body.text("prompt").value_or("");
  request.extra = read_extra(body);
  request.native = read_native_settings(body, defaults);
  return request;
}

// Most of a long text is left out again, but only after it was tokenised.
constexpr std::size_t kTextBytesMax = std::size_t{8} << 20U;

std::size_t text_bytes(const InfillRequest& request) {
  std::size_t bytes = request.prefix.size() + request.suffix.size() + request.typed.size();
  for (const ExtraFile& file : request.extra) bytes += file.name.size() + file.text.size();
  return bytes;
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
  auto request = decode_object<InfillRequest>(
      json, [&](const JsonFields& body) { return read_infill_request(body, defaults); });
  if (!request) return request.error();
  if (text_bytes(*request) <= kTextBytesMax) return request;
  return Error{ErrorCode::kTooLarge,
               "The texts of an infill may have 8 MiB together; an editor needs what is near the "
               "cursor.",
               "input_extra"};
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
