#include "engine/llama/testing/tiny_vocabularies.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "ggml-cpp.h"
#include "gguf.h"

namespace holdfast::llama::tiny {
namespace {

constexpr std::array kControl = {"<|a|>", "<|a|><|b|>", "<|b|>", "<|ab|>",
                                 "ab<",   "<ab",        "<|",    "<|endoftext|>"};
constexpr std::array kOwn = {"<think>", "</think>", "think>", "  ", "    ", "\n\n", "<|c|>"};

struct TokenList {
  std::vector<std::string> texts;
  std::vector<std::int32_t> types;
  std::vector<float> scores;

  void add(const std::string& text, llama_token_type type, float score = 0.0F) {
    if (std::ranges::find(texts, text) != texts.end()) return;
    texts.push_back(text);
    types.push_back(type);
    scores.push_back(score);
  }
  [[nodiscard]] std::uint32_t id_of(const std::string& text) const {
    const auto found = std::ranges::find(texts, text);
    CHECK(found != texts.end());
    return static_cast<std::uint32_t>(found - texts.begin());
  }
};

std::string hex(unsigned byte, std::string_view digits) {
  return {digits[byte >> 4U], digits[byte & 15U]};
}

void add_bytes(TokenList& tokens) {
  for (unsigned byte = 0; byte < 256; ++byte)
    tokens.add("<0x" + hex(byte, "0123456789ABCDEF") + ">", LLAMA_TOKEN_TYPE_BYTE);
}

// The library reads this kind for ever where a byte is missing.
void add_rwkv_words(TokenList& tokens) {
  for (unsigned byte = 0; byte < 256; ++byte)
    tokens.add("\\x" + hex(byte, "0123456789abcdef"), LLAMA_TOKEN_TYPE_NORMAL);
  for (const char* word : {"ab", " ab", "th", "the", " the", "s>"})
    tokens.add(word, LLAMA_TOKEN_TYPE_NORMAL);
}

// Letters and some words of several letters, as each kind writes them.
void add_words(TokenList& tokens, const std::string& tokenizer) {
  const std::string space = tokenizer == "gpt2" ? "\u0120" : "\u2581";
  for (char letter = '!'; letter <= '~'; ++letter) {
    const std::string text(1, letter);
    tokens.add(text, LLAMA_TOKEN_TYPE_NORMAL, -9.0F);
    tokens.add(space + text, LLAMA_TOKEN_TYPE_NORMAL, -8.0F);
  }
  tokens.add(space, LLAMA_TOKEN_TYPE_NORMAL, -9.0F);
  // Ways to come to "</s>" letter by letter.
  for (const char* word : {"ab", "th", "the", "</", "s>", "</s", "|>", "<s"}) {
    tokens.add(word, LLAMA_TOKEN_TYPE_NORMAL, -3.0F);
    tokens.add(space + word, LLAMA_TOKEN_TYPE_NORMAL, -2.0F);
  }
  if (tokenizer == "gpt2") tokens.add("\u010A", LLAMA_TOKEN_TYPE_NORMAL);
}

TokenList list_tokens(const VocabularyKind& kind) {
  TokenList tokens;
  tokens.add("<unk>", LLAMA_TOKEN_TYPE_UNKNOWN);
  tokens.add("<s>", LLAMA_TOKEN_TYPE_CONTROL);
  tokens.add("</s>", LLAMA_TOKEN_TYPE_CONTROL);
  for (const char* text : kControl) tokens.add(text, LLAMA_TOKEN_TYPE_CONTROL);
  for (const std::string& text : kind.control) tokens.add(text, LLAMA_TOKEN_TYPE_CONTROL);
  for (const char* text : kOwn) tokens.add(text, LLAMA_TOKEN_TYPE_USER_DEFINED);
  if (kind.tokenizer == "llama" || kind.tokenizer == "t5") add_bytes(tokens);
  if (kind.tokenizer == "rwkv") {
    add_rwkv_words(tokens);
  } else {
    add_words(tokens, kind.tokenizer);
  }
  return tokens;
}

void set_tokens(gguf_context* metadata, const TokenList& tokens) {
  std::vector<const char*> pointers;
  for (const std::string& text : tokens.texts) pointers.push_back(text.c_str());
  gguf_set_arr_str(metadata, "tokenizer.ggml.tokens", pointers.data(), pointers.size());
  gguf_set_arr_data(metadata, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, tokens.types.data(),
                    tokens.types.size());
  gguf_set_arr_data(metadata, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, tokens.scores.data(),
                    tokens.scores.size());
}

gguf_context_ptr make_metadata(const VocabularyKind& kind) {
  const TokenList tokens = list_tokens(kind);
  gguf_context_ptr metadata(gguf_init_empty());
  gguf_context* const file = metadata.get();
  gguf_set_val_str(file, "general.architecture", "llama");
  // The library knows by this name that control tokens drop the space behind them.
  gguf_set_val_str(file, "general.name", kind.drops_space ? "phi-3" : "tiny");
  gguf_set_val_str(file, "tokenizer.ggml.model", kind.tokenizer.c_str());
  gguf_set_val_str(file, "tokenizer.ggml.pre", kind.tokenizer == "gpt2" ? "qwen2" : "default");
  set_tokens(file, tokens);
  const std::array merges = {"a b", "t h", "th e", "< /", "s >", "</ s", "| >"};
  gguf_set_arr_str(file, "tokenizer.ggml.merges", const_cast<const char**>(merges.data()),
                   merges.size());
  gguf_set_val_u32(file, "tokenizer.ggml.unknown_token_id", tokens.id_of("<unk>"));
  gguf_set_val_u32(file, "tokenizer.ggml.bos_token_id", tokens.id_of("<s>"));
  gguf_set_val_u32(file, "tokenizer.ggml.eos_token_id", tokens.id_of("</s>"));
  gguf_set_val_u32(file, "tokenizer.ggml.seperator_token_id", tokens.id_of("</s>"));
  gguf_set_val_bool(file, "tokenizer.ggml.add_bos_token", kind.add_bos);
  gguf_set_val_bool(file, "tokenizer.ggml.add_eos_token", kind.add_eos);
  return metadata;
}

}  // namespace

std::vector<VocabularyKind> all_vocabulary_kinds() {
  return {{"llama", true, false}, {"llama", false, true}, {"llama", true, false, true},
          {"gpt2", false, false}, {"gpt2", true, true},   {"gpt2", true, false, true},
          {"bert", false, false}, {"t5", false, true},    {"rwkv", false, false}};
}

std::vector<std::string> special_words() {
  std::vector<std::string> words(kControl.begin(), kControl.end());
  words.insert(words.end(), kOwn.begin(), kOwn.end());
  words.insert(words.end(), {"<unk>", "<s>", "</s>"});
  return words;
}

LlamaModelPtr make_vocabulary(const VocabularyKind& kind) {
  std::string path = (std::filesystem::temp_directory_path() / "holdfast_vocab_XXXXXX").string();
  const int descriptor = ::mkstemp(path.data());
  CHECK(descriptor >= 0);
  ::close(descriptor);
  CHECK(gguf_write_to_file(make_metadata(kind).get(), path.c_str(), /*only_meta=*/false));
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  LlamaModelPtr model(llama_model_load_from_file(path.c_str(), params));
  std::filesystem::remove(path);
  CHECK(model != nullptr);
  return model;
}

}  // namespace holdfast::llama::tiny
