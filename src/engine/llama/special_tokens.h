// SpecialTokens: the words of a vocabulary that are tokens of their own, and where they cut a text.
//
// llama_tokenize cuts a text at them before it reads what lies between. It takes one word after
// the other, the longest first, and looks for it in every piece that is still text; a word may ask
// for the white space beside it to be dropped. The library keeps the pieces in a linked list and
// counts from its beginning after each cut, so that the time grows with the square of the number
// of cuts (docs/engine.md). cut() does the same on a vector: each word that occurs is looked for
// once in the whole text.
//
//   text    Hi<|im_end|>  Bye            words  "<|im_end|>" (drops space behind it), ...
//   pieces  [Hi] <|im_end|> [Bye]
//
// Two words of the same length that overlap are taken in the order that the library's sort leaves
// them in. as_library() has compared that order with the library's, once, for all such pairs.
//
// Promised by cut(), verified by llama_tokenizer_test.cc against the library:
//   CUTS-1  the pieces are the library's pieces
//   CUTS-2  no control token stands for a byte of a range that is to be read as text
//
// Immutable; any thread.
#pragma once

#include <llama.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text.h"
#include "state/tokens.h"

namespace holdfast::llama {

struct SpecialWord {
  Token token = 0;
  std::string text;
  bool control = false;  // else the vocabulary's own word, which text may always name
  bool drops_space_before = false;
  bool drops_space_behind = false;
};

// A part of a text: either bytes [begin, end) that are to be tokenised, or a token.
struct TextPiece {
  std::size_t begin = 0;
  std::size_t end = 0;
  Token token = -1;  // -1: text
};

class SpecialTokens {
 public:
  explicit SpecialTokens(const llama_vocab* vocab);

  // Whether cut() is known to cut as the library does.
  [[nodiscard]] bool as_library() const { return as_library_; }
  [[nodiscard]] bool any_drops_space() const;
  // In how many places of the text some word begins, those inside of others too.
  [[nodiscard]] std::size_t count(std::string_view text) const;
  // With `control`, control tokens count too, save where they touch a byte of `literal`: ranges in
  // ascending order.
  [[nodiscard]] std::vector<TextPiece> cut(std::string_view text, bool control,
                                           std::span<const engine::TextRange> literal = {}) const;
  // Where control tokens are spelt, from left to right, the longest at each place; `only` these.
  [[nodiscard]] std::vector<engine::TextRange> find_control(
      std::string_view text, std::optional<std::span<const Token>> only = std::nullopt) const;
  // Whether JSON spells a control token in another way than text does.
  [[nodiscard]] bool need_escapes() const;

 private:
  // A letter of the words, after those on the way to it from the root.
  struct Node {
    std::vector<std::pair<char, std::uint32_t>> children;
    std::vector<std::uint32_t> words;  // that end here
  };

  void add_to_trie(std::uint32_t word);
  [[nodiscard]] const Node* child_of(const Node& node, char letter) const;
  template <typename Visit>
  void visit_words_at(std::string_view text, std::size_t position, Visit visit) const;
  [[nodiscard]] std::vector<bool> words_in(std::string_view text) const;
  [[nodiscard]] bool cuts_as_library(const llama_vocab* vocab, const std::string& text) const;
  [[nodiscard]] bool ties_are_as_library(const llama_vocab* vocab) const;

  std::vector<SpecialWord> words_;  // in the order in which they cut
  std::vector<Node> trie_ = std::vector<Node>(1);
  bool as_library_ = false;
};

}  // namespace holdfast::llama
