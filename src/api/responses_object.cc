#include "api/responses_object.h"

#include <nlohmann/json.hpp>

#include "api/json_fields.h"
#include "api/json_values.h"

namespace holdfast::api {
namespace {

using Kind = OutputItem::Kind;

const char* type_of(Kind kind) {
  switch (kind) {
    case Kind::kReasoning: return "reasoning";
    case Kind::kMessage: return "message";
    case Kind::kFunctionCall: return "function_call";
    case Kind::kCustomCall: return "custom_tool_call";
  }
  return "message";
}

// No part before the first word.
void append_parts(std::string& out, const OutputItem& item) {
  out += '[';
  if (!item.text.empty()) append_output_part(out, item.kind, item.text);
  out += ']';
}

void append_call(ObjectWriter& object, const OutputItem& item) {
  object.text("call_id", item.call_id);
  object.text("name", item.name);
  if (item.kind == Kind::kCustomCall)
    object.text("input", custom_input(item.text));
  else
    object.text("arguments", item.text);
}

void append_usage(std::string& out, const ResponseUsage& usage) {
  ObjectWriter object(out);
  object.integer("input_tokens", usage.input_tokens);
  {
    ObjectWriter details(object.key("input_tokens_details"));
    details.integer("cached_tokens", usage.cached_tokens);
    details.integer("cache_write_tokens", 0);  // OpenAI's word for input that costs extra
  }
  object.integer("output_tokens", usage.output_tokens);
  {
    ObjectWriter details(object.key("output_tokens_details"));
    details.integer("reasoning_tokens", usage.reasoning_tokens);
  }
  object.integer("total_tokens", std::int64_t{usage.input_tokens} + usage.output_tokens);
}

void append_error(std::string& out, const std::optional<Error>& error) {
  if (!error) {
    out += "null";
    return;
  }
  ObjectWriter object(out);
  object.text("code", response_error_code(error->code));
  object.text("message", error->message);
}

void append_output(std::string& out, const std::vector<OutputItem>* items) {
  static const std::vector<OutputItem> kNone;
  append_array(out, items == nullptr ? kNone : *items,
               [&](const OutputItem& item) { append_output_item(out, item); });
}

}  // namespace

std::string custom_input(const std::string& arguments) {
  const Result<Json> parsed = parse_json(arguments);
  if (!parsed.ok() || !parsed->is_object()) return arguments;
  const auto input = parsed->find("input");
  const bool found = input != parsed->end() && input->is_string();
  return found ? input->get<std::string>() : arguments;
}

void append_output_part(std::string& out, Kind kind, std::string_view text) {
  ObjectWriter part(out);
  if (kind == Kind::kReasoning) {
    part.text("type", "reasoning_text");
    part.text("text", text);
    return;
  }
  part.text("type", "output_text");
  part.text("text", text);
  part.raw("annotations", "[]");
  part.raw("logprobs", "[]");
}

void append_output_item(std::string& out, const OutputItem& item) {
  ObjectWriter object(out);
  object.text("id", item.id);
  object.text("type", type_of(item.kind));
  object.text("status", item.status);
  if (item.kind == Kind::kFunctionCall || item.kind == Kind::kCustomCall)
    return append_call(object, item);
  if (item.kind == Kind::kMessage) object.text("role", "assistant");
  if (item.kind == Kind::kReasoning) {
    object.raw("summary", "[]");
    append_text_or_null(object, "encrypted_content", item.answer_id);
  }
  append_parts(object.key("content"), item);
}

std::string response_json(const ResponseHead& head, const ResponseState& state) {
  std::string out;
  {
    ObjectWriter object(out);
    object.text("id", head.id);
    object.text("object", "response");
    object.integer("created_at", head.created_at);
    object.text("status", state.status);
    object.raw("background", "false");
    append_error(object.key("error"), state.error);
    object.raw("incomplete_details",
               state.status == "incomplete" ? R"({"reason":"max_output_tokens"})" : "null");
    object.text("model", head.model);
    append_output(object.key("output"), state.output);
    if (state.usage)
      append_usage(object.key("usage"), *state.usage);
    else
      object.raw("usage", "null");
    if (!state.cache_receipt.empty()) object.raw("cache_receipt", state.cache_receipt);
    out += ',';
    out += head.echo_json;
  }
  return out;
}

std::string_view response_error_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kContextExceeded: return "context_length_exceeded";
    case ErrorCode::kUnavailable: return "server_is_overloaded";
    case ErrorCode::kTimeout: return "rate_limit_exceeded";
    case ErrorCode::kInvalidArgument: return "invalid_prompt";
    default: return "server_error";
  }
}

}  // namespace holdfast::api
