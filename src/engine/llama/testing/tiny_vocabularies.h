// Tiny vocabularies of every kind of tokenizer that the library has, without a model behind them.
//
// They share special words that are hard to tell apart: glued together, inside of each other, of
// one length and overlapping, made of white space.
#pragma once

#include <string>
#include <vector>

#include "engine/llama/llama_handles.h"

namespace holdfast::llama::tiny {

struct VocabularyKind {
  std::string tokenizer;  // tokenizer.ggml.model: "llama", "gpt2", "bert", ...
  bool add_bos = false;
  bool add_eos = false;
  bool drops_space = false;               // control tokens drop the white space behind them
  std::vector<std::string> control = {};  // further control tokens
};

// One of each, and some again with other ends.
[[nodiscard]] std::vector<VocabularyKind> all_vocabulary_kinds();

// Special words of every such vocabulary.
[[nodiscard]] std::vector<std::string> special_words();

// A model that has a vocabulary and nothing else.
[[nodiscard]] LlamaModelPtr make_vocabulary(const VocabularyKind& kind);

}  // namespace holdfast::llama::tiny
