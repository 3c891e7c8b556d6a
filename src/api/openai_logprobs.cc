#include "api/openai_logprobs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

// OpenAI's stand-in for a probability of zero.
constexpr double kImpossibleLogprob = -9999.0;

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

}  // namespace

TokenLogprobs logprobs_of(const serve::TokenReport& report,
                          const std::function<std::string(Token)>& piece) {
  TokenLogprobs logprobs;
  logprobs.chosen = {report.sampled.token, report.text, report.sampled.logprob};
  for (const engine::TokenLogprob& top : report.sampled.top)
    logprobs.top.push_back({top.token, piece(top.token), top.logprob});
  return logprobs;
}

void append_chat_logprobs(std::string& out, const std::vector<TokenLogprobs>& tokens) {
  ObjectWriter object(out);
  append_chat_tokens(object.key("content"), tokens);
}

void append_chat_tokens(std::string& out, const std::vector<TokenLogprobs>& tokens) {
  append_array(out, tokens, [&](const TokenLogprobs& token) { append_chat_token(out, token); });
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

std::size_t text_characters(std::string_view text) {
  // Bytes that continue a character do not count.
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace holdfast::api
