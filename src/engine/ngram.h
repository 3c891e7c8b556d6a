// NgramCompanion: proposes what followed the last time (prompt lookup).
//
//   tokens   .. the cat sat on the mat. Then the cat | next = sat
//                   ^^^^^^^ ^                ^^^^^^^^^^^^^^^^^^^^ the last three tokens
//                           ` were here before: "on the mat." is proposed
//
// Matches of 4 tokens are looked for first, then shorter ones down to 2. Among the latest matches
// of the longest grams, the one whose agreement reaches furthest back is taken. A short match says
// little: it counts only if the two latest matches of its length were followed by the same token,
// and the proposal ends where the two differ.
//
// There are no probabilities here: a match that counts satisfies any least probability. There is no
// state to keep either: the companion needs nothing but tokens, so it always holds all that it was
// told, and saves no bytes.
//
// Memory: about 60 bytes for each token of the longest sequence that a slot has held, freed when
// the slot holds none. If memory runs out, the slot starts over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/companion.h"

namespace holdfast::engine {

struct NgramOptions {
  TokenPos longest = 4;
  TokenPos shortest = 2;
  TokenPos sure_from = 3;  // shorter matches count only where two agree
};

// Where each gram (a few neighbouring tokens) of a growing sequence occurred. A gram is
// named by its end: the gram of n tokens that ends at e is [e - n, e).
//
//   latest[hash of the gram] -> e3 -> e2 -> e1        earlier[e] leads back
//
// Grams are filed in order, and trimming undoes it, the last end first. Grams of different tokens
// may share a chain; tokens are compared when a chain is used.
//
// Invariants, verified by check():
//   NGRAM-1  every chain descends and stays within the tokens
//   NGRAM-2  every gram is in the chain of its hash, once
class NgramIndex {
 public:
  explicit NgramIndex(const NgramOptions& options);

  [[nodiscard]] TokenSpan tokens() const { return tokens_; }
  void append(TokenSpan tokens);
  // REQUIRES: 0 <= length <= tokens().size().
  void trim(TokenPos length);
  // Forgets everything, also what was left half done when memory ran out.
  void clear() noexcept;

  // What may follow the tokens and `next`; up to `most` tokens.
  [[nodiscard]] Tokens propose(Token next, TokenPos most) const;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  // Grams of one length.
  struct Level {
    TokenPos gram = 0;
    std::vector<TokenPos> latest;   // by hash; 0: none
    std::vector<TokenPos> earlier;  // by end - 1; 0: none
  };

  [[nodiscard]] static std::size_t chain_of(const Level& level, const Token* gram);
  [[nodiscard]] const Token* gram_at(const Level& level, TokenPos end) const;
  void file(Level& level, TokenPos end);
  void make_room(Level& level, std::size_t tokens);
  [[nodiscard]] std::vector<TokenPos> matches(const Level& level, TokenSpan suffix) const;
  [[nodiscard]] TokenPos furthest_back(const std::vector<TokenPos>& ends, Token next) const;
  [[nodiscard]] Tokens continuation(TokenPos end, Token next, TokenPos most) const;

  TokenPos sure_from_;
  Tokens tokens_;
  std::vector<Level> levels_;  // the longest grams first
};

class NgramCompanion final : public Companion {
 public:
  explicit NgramCompanion(int slots, NgramOptions options = {});

  [[nodiscard]] std::string_view name() const noexcept override { return "ngram"; }
  [[nodiscard]] CompanionShape shape() const noexcept override { return {}; }
  [[nodiscard]] Followed follow(SlotId slot, const CompanionPoint& point) noexcept override;
  void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept override;
  void draft(std::span<DraftWish> wishes) noexcept override;
  [[nodiscard]] CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                    TokenPos length) noexcept override;

  // All that it was told of the slot, and holds.
  [[nodiscard]] TokenSpan tokens(SlotId slot) const;

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] NgramIndex& index(SlotId slot);

  std::vector<NgramIndex> indexes_;
};

}  // namespace holdfast::engine
