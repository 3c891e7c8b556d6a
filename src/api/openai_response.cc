#include "api/openai_response.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

// OpenAI's stand-in for a probability of zero.
constexpr double kImpossibleLogprob = -9999.0;

void append_usage(std::string& out, const Usage& usage) {
  ObjectWriter object(out);
  object.integer("prompt_tokens", usage.prompt_tokens);
  object.integer("completion_tokens", usage.completion_tokens);
  object.integer("total_tokens", std::int64_t{usage.prompt_tokens} + usage.completion_tokens);
  ObjectWriter details(object.key("prompt_tokens_details"));
  details.integer("cached_tokens", usage.cached_tokens);
}

double ratio(double a, double b) { return b > 0.0 ? a / b : 0.0; }

void append_timings(std::string& out, const serve::Timings& timings) {
  ObjectWriter object(out);
  object.integer("cache_n", timings.cached_tokens);
  object.integer("prompt_n", timings.prompt_tokens);
  object.real("prompt_ms", timings.prompt_ms);
  object.real("prompt_per_token_ms", ratio(timings.prompt_ms, timings.prompt_tokens));
  object.real("prompt_per_second", ratio(1000.0 * timings.prompt_tokens, timings.prompt_ms));
  object.integer("predicted_n", timings.predicted_tokens);
  object.real("predicted_ms", timings.predicted_ms);
  object.real("predicted_per_token_ms", ratio(timings.predicted_ms, timings.predicted_tokens));
  object.real("predicted_per_second",
              ratio(1000.0 * timings.predicted_tokens, timings.predicted_ms));
  if (timings.drafted_tokens == 0) return;
  object.integer("draft_n", static_cast<std::int64_t>(timings.drafted_tokens));
  object.integer("draft_n_accepted", static_cast<std::int64_t>(timings.accepted_tokens));
}

void append_progress(std::string& out, const serve::PromptProgress& progress) {
  ObjectWriter object(out);
  object.integer("total", progress.total);
  object.integer("cache", progress.cached);
  object.integer("processed", progress.processed);
  object.real("time_ms", progress.ms);
}

// Appends [a,b,...] with `append_item` for each.
template <typename Items, typename Append>
void append_array(std::string& out, const Items& items, Append append_item) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    append_item(item);
  }
  out += ']';
}

// --- Logprobs ---------------------------------------------------------------

double finite_logprob(float logprob) {
  return std::isfinite(logprob) ? static_cast<double>(logprob) : kImpossibleLogprob;
}

void append_token_fields(ObjectWriter& object, std::string& out, const TokenChoice& choice) {
  object.integer("id", choice.token);
  object.text("token", choice.text);
  object.real("logprob", finite_logprob(choice.logprob));
  object.key("bytes");
  append_array(out, choice.text, [&](char byte) {
    append_json_number(out, std::int64_t{static_cast<unsigned char>(byte)});
  });
}

void append_chat_token(std::string& out, const TokenLogprobs& token) {
  ObjectWriter object(out);
  append_token_fields(object, out, token.chosen);
  object.key("top_logprobs");
  append_array(out, token.top, [&](const TokenChoice& choice) {
    ObjectWriter alternative(out);
    append_token_fields(alternative, out, choice);
  });
}

void append_chat_logprobs(std::string& out, const std::vector<TokenLogprobs>& tokens) {
  ObjectWriter object(out);
  object.key("content");
  append_array(out, tokens, [&](const TokenLogprobs& token) { append_chat_token(out, token); });
}

bool is_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length_at(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

// A token that is a part of a character: "bytes:\xe2\x80", as OpenAI writes it.
// It keeps the keys of top_logprobs apart, where U+FFFD would make them equal.
std::string legacy_token_text(const std::string& text) {
  if (is_utf8(text)) return text;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string name = "bytes:";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    name += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
  }
  return name;
}

// {"token": logprob, ...}; of tokens with equal text the likelier one stays.
void append_legacy_top(std::string& out, const std::vector<TokenChoice>& top) {
  std::vector<std::string> seen;
  out += '{';
  for (const TokenChoice& choice : top) {
    std::string name = legacy_token_text(choice.text);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    if (!seen.empty()) out += ',';
    append_json_string(out, name);
    out += ':';
    append_json_number(out, finite_logprob(choice.logprob));
    seen.push_back(std::move(name));
  }
  out += '}';
}

void append_text_logprobs(std::string& out, const std::vector<TokenLogprobs>& tokens,
                          std::size_t offset) {
  ObjectWriter object(out);
  object.key("tokens");
  append_array(out, tokens, [&](const TokenLogprobs& token) {
    append_json_string(out, legacy_token_text(token.chosen.text));
  });
  object.key("token_logprobs");
  append_array(out, tokens, [&](const TokenLogprobs& token) {
    append_json_number(out, finite_logprob(token.chosen.logprob));
  });
  object.key("top_logprobs");
  append_array(out, tokens, [&](const TokenLogprobs& token) { append_legacy_top(out, token.top); });
  object.key("text_offset");
  append_array(out, tokens, [&](const TokenLogprobs& token) {
    append_json_number(out, static_cast<std::int64_t>(offset));
    offset += text_characters(token.chosen.text);
  });
}

// --- Whole answers ----------------------------------------------------------

void append_head(ObjectWriter& object, const ReplyHead& head, std::string_view kind) {
  object.text("id", head.id);
  object.text("object", kind);
  object.integer("created", head.created);
  object.text("model", head.model);
  object.text("system_fingerprint", head.system_fingerprint);
}

void append_tool_call(std::string& out, const engine::ToolCall& call) {
  ObjectWriter object(out);
  object.text("id", call.id);
  object.text("type", "function");
  ObjectWriter function(object.key("function"));
  function.text("name", call.name);
  function.text("arguments", call.arguments);
}

// Content is null when the reply is calls and nothing else.
void append_message(std::string& out, const engine::Reply& reply) {
  ObjectWriter object(out);
  object.text("role", "assistant");
  if (reply.content.empty() && !reply.tool_calls.empty())
    object.raw("content", "null");
  else
    object.text("content", reply.content);
  if (!reply.reasoning.empty()) object.text("reasoning_content", reply.reasoning);
  if (reply.tool_calls.empty()) return;
  object.key("tool_calls");
  append_array(out, reply.tool_calls,
               [&](const engine::ToolCall& call) { append_tool_call(out, call); });
}

void append_choice(std::string& out, const ChatChoice& choice) {
  ObjectWriter object(out);
  object.integer("index", choice.index);
  append_message(object.key("message"), choice.reply);
  if (choice.logprobs)
    append_chat_logprobs(object.key("logprobs"), *choice.logprobs);
  else
    object.raw("logprobs", "null");
  object.text("finish_reason", finish_reason_name(choice.reason, !choice.reply.tool_calls.empty()));
}

void append_choice(std::string& out, const TextChoice& choice) {
  ObjectWriter object(out);
  object.integer("index", choice.index);
  object.text("text", choice.text);
  if (choice.logprobs)
    append_text_logprobs(object.key("logprobs"), *choice.logprobs, choice.echoed);
  else
    object.raw("logprobs", "null");
  object.text("finish_reason", finish_reason_name(choice.reason, false));
}

struct Totals {
  const Usage& usage;
  const serve::Timings& timings;
  std::string_view cache_receipt;
};

template <typename Choice>
std::string completion(const ReplyHead& head, std::string_view kind,
                       const std::vector<Choice>& choices, const Totals& totals) {
  std::string out;
  {
    ObjectWriter object(out);
    append_head(object, head, kind);
    object.key("choices");
    append_array(out, choices, [&](const Choice& choice) { append_choice(out, choice); });
    append_usage(object.key("usage"), totals.usage);
    append_timings(object.key("timings"), totals.timings);
    if (!totals.cache_receipt.empty()) object.raw("cache_receipt", totals.cache_receipt);
  }
  return out;
}

// --- Chunks -----------------------------------------------------------------

std::string open_head(const ReplyHead& head, std::string_view kind) {
  std::string out;
  {
    ObjectWriter object(out);
    append_head(object, head, kind);
  }
  out.pop_back();  // the closing brace
  return out;
}

// Begins a chunk up to the value of its payload, `"delta":` or `"text":`.
std::string open_chunk(const ChunkHead& head, int index, std::string_view payload) {
  std::string out;
  out.reserve(head.json().size() + 160);
  out += head.json();
  out += ",\"choices\":[{\"index\":";
  append_json_number(out, std::int64_t{index});
  out += ",\"";
  out += payload;
  out += "\":";
  return out;
}

// REQUIRES: the choice is still open. An empty reason is null.
void close_choice(std::string& out, std::string_view finish_reason) {
  out += ",\"finish_reason\":";
  if (finish_reason.empty())
    out += "null";
  else
    append_json_string(out, finish_reason);
  out += "}]";
}

std::string close_chunk(std::string out, const serve::Timings* timings,
                        std::string_view cache_receipt = {}) {
  if (timings != nullptr) append_timings(out += ",\"timings\":", *timings);
  if (!cache_receipt.empty()) (out += ",\"cache_receipt\":") += cache_receipt;
  out += '}';
  return out;
}

// OpenAI: id, type and name come once; arguments are always a string.
void append_tool_delta(std::string& out, std::size_t index, const engine::ToolCall& call) {
  ObjectWriter object(out);
  object.integer("index", static_cast<std::int64_t>(index));
  if (!call.id.empty()) {
    object.text("id", call.id);
    object.text("type", "function");
  }
  ObjectWriter function(object.key("function"));
  if (!call.name.empty()) function.text("name", call.name);
  function.text("arguments", call.arguments);
}

void append_delta(std::string& out, const engine::ReplyDelta& delta) {
  ObjectWriter object(out);
  if (!delta.reasoning.empty()) object.text("reasoning_content", delta.reasoning);
  if (!delta.content.empty()) object.text("content", delta.content);
  if (!delta.tool_index) return;
  object.key("tool_calls") += '[';
  append_tool_delta(out, *delta.tool_index, delta.tool);
  out += ']';
}

std::string progress_chunk(std::string out, const serve::PromptProgress& progress) {
  close_choice(out, "");
  append_progress(out += ",\"prompt_progress\":", progress);
  return close_chunk(std::move(out), nullptr);
}

// --- Errors -----------------------------------------------------------------

struct ErrorShape {
  int status;
  const char* type;
  const char* code;  // nullptr: null
};

ErrorShape shape_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return {400, "invalid_request_error", nullptr};
    case ErrorCode::kNotFound: return {404, "not_found_error", "not_found"};
    case ErrorCode::kUnauthorized: return {401, "authentication_error", "invalid_api_key"};
    case ErrorCode::kTooLarge: return {413, "invalid_request_error", "request_too_large"};
    case ErrorCode::kContextExceeded:
      return {400, "exceed_context_size_error", "context_length_exceeded"};
    case ErrorCode::kUnavailable: return {503, "unavailable_error", "unavailable"};
    case ErrorCode::kTimeout: return {504, "timeout_error", "timeout"};
    case ErrorCode::kCancelled: return {499, "cancelled_error", "cancelled"};
    case ErrorCode::kUnsupported: return {501, "not_supported_error", "not_supported"};
    case ErrorCode::kIo: return {500, "server_error", nullptr};
    case ErrorCode::kEngine: return {500, "server_error", nullptr};
  }
  return {500, "server_error", nullptr};
}

const char* type_of_status(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 501: return "not_supported_error";
    case 503: return "unavailable_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

void append_nullable(ObjectWriter& object, std::string_view name, std::string_view value) {
  if (value.empty())
    object.raw(name, "null");
  else
    object.text(name, value);
}

void append_error(std::string& out, const Error& error,
                  const std::optional<ContextOverflow>& overflow) {
  const ErrorShape shape = shape_of(error.code);
  ObjectWriter object(out);
  object.text("message", error.message);
  object.text("type", shape.type);
  append_nullable(object, "param", error.param);
  append_nullable(object, "code", shape.code == nullptr ? "" : shape.code);
  if (!overflow) return;
  object.integer("n_prompt_tokens", overflow->prompt_tokens);
  object.integer("n_ctx", overflow->context_tokens);
}

}  // namespace

Usage usage_of(const serve::Finished& finished) {
  return {.prompt_tokens = finished.prompt_tokens,
          .completion_tokens = finished.timings.predicted_tokens,
          .cached_tokens = finished.timings.cached_tokens};
}

TokenLogprobs logprobs_of(const serve::TokenReport& report,
                          const std::function<std::string(Token)>& piece) {
  TokenLogprobs logprobs;
  logprobs.chosen = {report.sampled.token, report.text, report.sampled.logprob};
  for (const engine::TokenLogprob& top : report.sampled.top)
    logprobs.top.push_back({top.token, piece(top.token), top.logprob});
  return logprobs;
}

std::string_view finish_reason_name(serve::FinishReason reason, bool has_tool_calls) {
  if (reason == serve::FinishReason::kMaxTokens || reason == serve::FinishReason::kContextFull)
    return "length";
  return has_tool_calls ? "tool_calls" : "stop";
}

std::string chat_completion(const ReplyHead& head, const std::vector<ChatChoice>& choices,
                            const Usage& usage, const serve::Timings& timings,
                            std::string_view cache_receipt) {
  return completion(head, "chat.completion", choices, {usage, timings, cache_receipt});
}

std::string text_completion(const ReplyHead& head, const std::vector<TextChoice>& choices,
                            const Usage& usage, const serve::Timings& timings,
                            std::string_view cache_receipt) {
  return completion(head, "text_completion", choices, {usage, timings, cache_receipt});
}

ChunkHead ChunkHead::chat(const ReplyHead& head) {
  return ChunkHead(open_head(head, "chat.completion.chunk"));
}

ChunkHead ChunkHead::text(const ReplyHead& head) {
  return ChunkHead(open_head(head, "text_completion"));
}

std::string chat_role_chunk(const ChunkHead& head, int index) {
  std::string out = open_chunk(head, index, "delta");
  out += R"({"role":"assistant","content":null})";
  close_choice(out, "");
  return close_chunk(std::move(out), nullptr);
}

std::string chat_delta_chunk(const ChunkHead& head, int index, const engine::ReplyDelta& delta,
                             const ChunkExtras& extras) {
  std::string out = open_chunk(head, index, "delta");
  append_delta(out, delta);
  if (extras.logprobs != nullptr) append_chat_logprobs(out += ",\"logprobs\":", *extras.logprobs);
  close_choice(out, "");
  return close_chunk(std::move(out), extras.timings);
}

std::string chat_finish_chunk(const ChunkHead& head, int index, std::string_view finish_reason,
                              const serve::Timings* timings, std::string_view cache_receipt) {
  std::string out = open_chunk(head, index, "delta");
  out += "{}";
  close_choice(out, finish_reason);
  return close_chunk(std::move(out), timings, cache_receipt);
}

std::string text_delta_chunk(const ChunkHead& head, int index, std::string_view text,
                             const ChunkExtras& extras) {
  std::string out = open_chunk(head, index, "text");
  append_json_string(out, text);
  out += ",\"logprobs\":";
  if (extras.logprobs != nullptr)
    append_text_logprobs(out, *extras.logprobs, extras.text_offset);
  else
    out += "null";
  close_choice(out, "");
  return close_chunk(std::move(out), extras.timings);
}

std::string text_finish_chunk(const ChunkHead& head, int index, std::string_view finish_reason,
                              const serve::Timings* timings, std::string_view cache_receipt) {
  std::string out = open_chunk(head, index, "text");
  out += "\"\",\"logprobs\":null";
  close_choice(out, finish_reason);
  return close_chunk(std::move(out), timings, cache_receipt);
}

std::string usage_chunk(const ChunkHead& head, const Usage& usage, const serve::Timings* timings,
                        std::string_view cache_receipt) {
  std::string out = head.json() + ",\"choices\":[],\"usage\":";
  append_usage(out, usage);
  return close_chunk(std::move(out), timings, cache_receipt);
}

std::string chat_progress_chunk(const ChunkHead& head, int index,
                                const serve::PromptProgress& progress) {
  return progress_chunk(open_chunk(head, index, "delta") + "{}", progress);
}

std::string text_progress_chunk(const ChunkHead& head, int index,
                                const serve::PromptProgress& progress) {
  return progress_chunk(open_chunk(head, index, "text") + "\"\",\"logprobs\":null", progress);
}

std::size_t text_characters(std::string_view text) {
  // Bytes that continue a character do not count.
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

int http_status(ErrorCode code) { return shape_of(code).status; }

std::string error_json(const Error& error, const std::optional<ContextOverflow>& overflow) {
  std::string out = "{\"error\":";
  append_error(out, error, overflow);
  return out + '}';
}

std::string http_error_json(int status, std::string_view message) {
  std::string out = "{\"error\":";
  {
    ObjectWriter object(out);
    object.text("message", message);
    object.text("type", type_of_status(status));
    object.raw("param", "null");
    object.raw("code", "null");
  }
  return out + '}';
}

}  // namespace holdfast::api
