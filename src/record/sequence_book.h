// Sequences of tokens that share beginnings, written once.
//
//   s0   a b c d e f            "a b c d e f" are new
//   s1   a b c | x y            3 tokens as in s0, then 2 new ones
//   s2   a b c x y | z          5 tokens as in s1, then 1 new one: it goes on where s1 ends
//
// The writer finds the longest beginning that any earlier sequence has, exactly. So the file shows
// how far two sequences agree even without the ids of their tokens. A private recording leaves the
// ids out, and the reader invents ids that are equal where the tokens were.
//
// A cursor is a sequence and a length: that many of its first tokens. Tokens that are added at the
// end of a sequence make it longer; tokens that are added elsewhere make a new sequence, which
// shares the beginning. Both sides follow this rule, so the file does not say which of the two it
// was.
//
// Invariants, tested by SequenceBook.SaysExactlyHowFarSequencesAgree against a list of all
// sequences:
//   BOOK-1  the reader gives the writer's tokens for a passage, or, in a private recording, ids
//           that are equal exactly where two sequences agree from their beginnings on
//   BOOK-2  `shared` is the longest beginning that any earlier sequence has
//   BOOK-3  the writer holds each token once: tokens() is the number of new ones
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "record/record_bytes.h"
#include "state/tokens.h"

namespace holdfast::record {

// What is written for the tokens after a cursor.
struct Passage {
  std::uint64_t from = 0;  // number of the sequence that has the shared tokens; 0 if there are none
  TokenPos shared = 0;     // how many of the tokens lie there
  std::size_t fresh = 0;   // how many new tokens follow
};

class SequenceWriter {
 public:
  struct Node;
  // Valid until clear().
  struct Cursor {
    Node* node = nullptr;  // null: the beginning
    TokenPos length = 0;
  };

  SequenceWriter();
  ~SequenceWriter();

  // Adds the tokens after a cursor, which moves behind them.
  Passage add(Cursor& cursor, TokenSpan tokens);
  [[nodiscard]] std::uint64_t tokens() const { return tokens_; }
  void clear();

 private:
  struct Sequence {
    TokenPos begin = 0;
    Tokens own;
    [[nodiscard]] TokenPos end() const { return begin + length_of(own); }
  };

  [[nodiscard]] Node* node_at(const Cursor& cursor) const;
  [[nodiscard]] Token token_at(const Node& node, TokenPos position) const;
  TokenPos walk(Cursor& cursor, TokenSpan tokens) const;
  void grow(Cursor& cursor, TokenSpan fresh);
  Node* split(Node* node, TokenPos at);

  std::vector<std::unique_ptr<Node>> nodes_;  // the first is the root
  std::vector<Sequence> sequences_;
  std::uint64_t tokens_ = 0;
};

class SequenceReader {
 public:
  struct Cursor {
    std::optional<std::uint64_t> sequence;  // none: the beginning
    TokenPos length = 0;
  };

  // The tokens of a passage after a cursor, which moves behind them. `ids` are those of the new
  // tokens; in a private recording it is empty, and ids are invented. Nothing: there is no such
  // passage.
  [[nodiscard]] std::optional<Tokens> read(Cursor& cursor, const Passage& passage, TokenSpan ids);
  [[nodiscard]] std::uint64_t tokens() const { return tokens_; }
  void clear();

 private:
  struct Sequence {
    std::optional<std::uint64_t> parent;
    TokenPos begin = 0;
    Tokens own;
    [[nodiscard]] TokenPos end() const { return begin + length_of(own); }
  };

  [[nodiscard]] Tokens tokens_of(std::uint64_t sequence, TokenPos begin, TokenPos end) const;
  Tokens& growing(Cursor& cursor);

  std::vector<Sequence> sequences_;
  std::uint64_t tokens_ = 0;
  Token invented_ = 0;
};

}  // namespace holdfast::record
