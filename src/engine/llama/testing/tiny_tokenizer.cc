#include "engine/llama/testing/tiny_tokenizer.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "engine/llama/testing/tiny_models.h"

namespace holdfast::llama::tiny {
namespace {

// GPT-2's text for a byte: itself if printable in Latin-1, else the next
// unused code point from 256 on.
char32_t byte_code_point(int byte) {
  const auto printable = [](int b) { return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad); };
  if (printable(byte)) return static_cast<char32_t>(byte);
  char32_t next = 256;
  for (int b = 0; b < byte; ++b) next += printable(b) ? 0 : 1;
  return next;
}

// REQUIRES: code_point < 0x800, which byte_code_point() keeps.
std::string utf8(char32_t code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xc0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3f))};
}

struct NamedToken {
  const char* text;
  llama_token_type type;
};

// In the order of TinyToken.
constexpr NamedToken kNamedTokens[] = {
    {"<|endoftext|>", LLAMA_TOKEN_TYPE_CONTROL},     {"<|im_start|>", LLAMA_TOKEN_TYPE_CONTROL},
    {"<|im_end|>", LLAMA_TOKEN_TYPE_CONTROL},        {"<think>", LLAMA_TOKEN_TYPE_USER_DEFINED},
    {"</think>", LLAMA_TOKEN_TYPE_USER_DEFINED},     {"<tool_call>", LLAMA_TOKEN_TYPE_USER_DEFINED},
    {"</tool_call>", LLAMA_TOKEN_TYPE_USER_DEFINED}, {"<|pad|>", LLAMA_TOKEN_TYPE_CONTROL},
};
static_assert(kTinyEndOfText + std::size(kNamedTokens) == kTinyVocabSize);

constexpr const char* kChatMlTemplate =
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}";

void set_token_list(gguf_context* metadata, std::uint32_t vocabulary) {
  std::vector<std::string> texts;
  std::vector<std::int32_t> types(256, LLAMA_TOKEN_TYPE_NORMAL);
  for (int byte = 0; byte < 256; ++byte) texts.push_back(utf8(byte_code_point(byte)));
  for (const NamedToken& token : kNamedTokens) {
    texts.emplace_back(token.text);
    types.push_back(token.type);
  }
  while (texts.size() < vocabulary) {
    texts.push_back("<|unused_" + std::to_string(texts.size()) + "|>");
    types.push_back(LLAMA_TOKEN_TYPE_UNUSED);
  }
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  gguf_set_arr_str(metadata, "tokenizer.ggml.tokens", pointers.data(), pointers.size());
  gguf_set_arr_data(metadata, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(),
                    types.size());
}

}  // namespace

void set_tokenizer(gguf_context* metadata, std::uint32_t vocabulary) {
  gguf_set_val_str(metadata, "tokenizer.ggml.model", "gpt2");
  gguf_set_val_str(metadata, "tokenizer.ggml.pre", "qwen2");
  set_token_list(metadata, vocabulary);
  gguf_set_arr_str(metadata, "tokenizer.ggml.merges", nullptr, 0);  // the key must exist
  gguf_set_val_u32(metadata, "tokenizer.ggml.bos_token_id", kTinyEndOfText);
  gguf_set_val_u32(metadata, "tokenizer.ggml.eos_token_id", kTinyImEnd);
  gguf_set_val_u32(metadata, "tokenizer.ggml.padding_token_id", kTinyPad);
  gguf_set_val_bool(metadata, "tokenizer.ggml.add_bos_token", false);
  gguf_set_val_str(metadata, "tokenizer.chat_template", kChatMlTemplate);
}

}  // namespace holdfast::llama::tiny
