// LlamaTokenizer: text to tokens, in time that is linear in the text.
//
// Most texts go to llama_tokenize as they are. One with very many special tokens is cut here
// (special_tokens.h), because the library's cutting is quadratic, and so is one with ranges that
// must be read as text whatever they spell.
//
// Verified by llama_tokenizer_test.cc:
//   TOKENIZER-1  tokenize() gives the tokens that llama_tokenize gives
//   TOKENIZER-2  tokens_at_least(text) <= tokenize(text).size(), where text is UTF-8
//   TOKENIZER-3  no control token of tokenize_prompt() comes from a literal range
//
// Immutable; any thread.
#pragma once

#include <llama.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/llama/special_tokens.h"
#include "engine/text.h"
#include "state/tokens.h"

namespace holdfast::llama {

class LlamaTokenizer {
 public:
  // A text with at most this many special tokens is left to the library, which cuts it within some
  // milliseconds.
  static constexpr std::size_t kCutsMax = 1024;

  explicit LlamaTokenizer(const llama_model* model, std::size_t cuts_max = kCutsMax);

  [[nodiscard]] Tokens tokenize(std::string_view text, bool add_special, bool parse_special) const;
  // Control tokens count, save in `literal`.
  [[nodiscard]] Tokens tokenize_prompt(std::string_view text, bool add_special,
                                       std::span<const engine::TextRange> literal) const;
  [[nodiscard]] std::int64_t tokens_at_least(std::string_view text) const;
  [[nodiscard]] const SpecialTokens& special() const { return special_; }

 private:
  void read_ends();
  void weigh_bytes(const llama_model* model);
  [[nodiscard]] Tokens tokenize_pieces(std::string_view text, bool add_special,
                                       std::span<const TextPiece> pieces,
                                       std::span<const engine::TextRange> literal) const;
  [[nodiscard]] Tokens read_text(std::string_view text) const;
  [[nodiscard]] Tokens read_on(std::string_view text) const;
  [[nodiscard]] Tokens read_in_letters(std::string_view text, const TextPiece& piece,
                                       std::span<const engine::TextRange> literal) const;
  [[nodiscard]] bool has_control(TokenSpan tokens) const;

  const llama_vocab* vocab_;
  SpecialTokens special_;
  std::size_t cuts_max_;
  Tokens front_;  // what `add_special` puts before and behind a text
  Tokens back_;
  // What each byte adds to the number of tokens at least, in units of 2^-32.
  std::array<std::uint64_t, 256> weights_{};
};

}  // namespace holdfast::llama
