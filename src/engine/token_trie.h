// TokenTrie: a vocabulary's tokens by their code points, so that a grammar judges all of them in
// one walk and leaves a branch at the first character that it does not take.
//
//   "he" "hello" "her" "world"      place:  h  e  l  l  o  r  w ...      in preorder
//                                   depth:  1  2  3  4  5  3  1
//                                   tokens: .  he .  .  hello her .
//
// A token whose bytes begin in the middle of a character stands apart: it can only follow one that
// ended there. Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/utf8.h"
#include "state/tokens.h"

namespace holdfast::engine {

class TokenTrie {
 public:
  struct Place {
    std::uint32_t code_point = 0;
    std::uint32_t depth = 0;         // 1 for the first character of a token
    std::uint32_t after = 0;         // the first place that is not below this one
    std::uint32_t tokens_begin = 0;  // ends(): those that end here, whole or in a part
    std::uint32_t tokens_end = 0;
  };
  struct End {
    Token token = 0;
    Utf8Part part;  // of a character that the token begins and does not end
  };

  // One piece for each token. Tokens with an empty piece, with bytes that cannot be UTF-8 or with a
  // NUL are left out: no grammar takes them.
  explicit TokenTrie(std::span<const std::string> pieces);

  // places()[0] is the root, at depth 0.
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] std::span<const End> ends(const Place& place) const {
    return std::span(ends_).subspan(place.tokens_begin, place.tokens_end - place.tokens_begin);
  }
  // Tokens that begin in the middle of a character.
  [[nodiscard]] const std::vector<Token>& continuing() const { return continuing_; }
  [[nodiscard]] const std::string& piece(Token token) const {
    return pieces_[static_cast<std::size_t>(token)];
  }
  [[nodiscard]] std::size_t vocabulary() const { return pieces_.size(); }
  [[nodiscard]] std::uint32_t depth() const { return depth_; }

 private:
  struct Spelled;
  void add(const Spelled& one, std::vector<std::uint32_t>& path);

  std::vector<std::string> pieces_;
  std::vector<Place> places_;
  std::vector<End> ends_;
  std::vector<Token> continuing_;
  std::uint32_t depth_ = 0;
};

}  // namespace holdfast::engine
