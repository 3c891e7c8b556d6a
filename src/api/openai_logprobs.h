// The log-probabilities of tokens, in OpenAI's two shapes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text.h"
#include "serve/request.h"

namespace holdfast::api {

struct TokenChoice {
  Token token = 0;
  std::string text;  // the token's bytes
  float logprob = 0.0F;
};

struct TokenLogprobs {
  TokenChoice chosen;
  std::vector<TokenChoice> top;
};

// `piece` gives a token's bytes; see TextModel::piece.
[[nodiscard]] TokenLogprobs logprobs_of(const serve::TokenReport& report,
                                        const std::function<std::string(Token)>& piece);

// Chat: {"content":[{"token","logprob","bytes","top_logprobs"}]}.
void append_chat_logprobs(std::string& out, const std::vector<TokenLogprobs>& tokens);
// That list alone.
void append_chat_tokens(std::string& out, const std::vector<TokenLogprobs>& tokens);
// Text: four arrays side by side. `offset` characters come before the first token.
void append_text_logprobs(std::string& out, const std::vector<TokenLogprobs>& tokens,
                          std::size_t offset);

// Characters, as text_offset counts them.
[[nodiscard]] std::size_t text_characters(std::string_view text);

}  // namespace holdfast::api
