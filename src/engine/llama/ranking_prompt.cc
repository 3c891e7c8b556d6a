#include "engine/llama/ranking_prompt.h"

#include <utility>
#include <vector>

namespace holdfast::llama {
namespace {

constexpr std::string_view kQuery = "{query}";
constexpr std::string_view kDocument = "{document}";

std::string own_template(const llama_model* model) {
  const char* text = llama_model_chat_template(model, "rerank");
  return text == nullptr ? "" : text;
}

void append(Tokens& tokens, const Tokens& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
}

}  // namespace

RankingPrompt::RankingPrompt(const llama_model* model)
    : RankingPrompt(model, own_template(model)) {}

RankingPrompt::RankingPrompt(const llama_model* model, std::string text)
    : vocab_(llama_model_get_vocab(model)), tokenizer_(model), template_(std::move(text)) {}

Tokens RankingPrompt::tokens(std::string_view query, std::string_view document) const {
  return template_.empty() ? joined(query, document) : templated(query, document);
}

Tokens RankingPrompt::templated(std::string_view query, std::string_view document) const {
  std::string prompt;
  std::vector<engine::TextRange> literal;
  const auto insert = [&](std::string_view text) {
    literal.push_back({prompt.size(), prompt.size() + text.size()});
    prompt += text;
  };
  std::string_view left = template_;
  while (!left.empty()) {
    if (left.starts_with(kQuery)) {
      insert(query);
      left.remove_prefix(kQuery.size());
    } else if (left.starts_with(kDocument)) {
      insert(document);
      left.remove_prefix(kDocument.size());
    } else {
      prompt += left.front();
      left.remove_prefix(1);
    }
  }
  return tokenizer_.tokenize_prompt(prompt, false, literal);
}

Tokens RankingPrompt::joined(std::string_view query, std::string_view document) const {
  Tokens tokens;
  const Token named_end = llama_vocab_eos(vocab_);
  const Token end = named_end == LLAMA_TOKEN_NULL ? llama_vocab_sep(vocab_) : named_end;
  const bool ends = llama_vocab_get_add_eos(vocab_) && end != LLAMA_TOKEN_NULL;
  if (llama_vocab_get_add_bos(vocab_)) tokens.push_back(llama_vocab_bos(vocab_));
  append(tokens, tokenizer_.tokenize(query, false, false));
  if (ends) tokens.push_back(end);
  if (llama_vocab_get_add_sep(vocab_)) tokens.push_back(llama_vocab_sep(vocab_));
  append(tokens, tokenizer_.tokenize(document, false, false));
  if (ends) tokens.push_back(end);
  return tokens;
}

}  // namespace holdfast::llama
