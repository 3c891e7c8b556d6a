// RankingPrompt: a query and a document, as a model that ranks was trained to read them.
//
// Verified by ranking_prompt_test.cc:
//   RANKING-1  no control token comes from the query or the document
//
// Immutable; any thread.
#pragma once

#include <llama.h>

#include <string>
#include <string_view>

#include "engine/llama/llama_tokenizer.h"
#include "state/tokens.h"

namespace holdfast::llama {

class RankingPrompt {
 public:
  // With the model's own template for ranking, if it has one.
  explicit RankingPrompt(const llama_model* model);
  RankingPrompt(const llama_model* model, std::string text);

  [[nodiscard]] Tokens tokens(std::string_view query, std::string_view document) const;

 private:
  [[nodiscard]] Tokens templated(std::string_view query, std::string_view document) const;
  [[nodiscard]] Tokens joined(std::string_view query, std::string_view document) const;

  const llama_vocab* vocab_;
  const LlamaTokenizer tokenizer_;
  const std::string template_;  // with {query} and {document}; empty: the two are joined
};

}  // namespace holdfast::llama
