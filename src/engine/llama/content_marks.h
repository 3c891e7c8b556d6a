// ContentMarks: finds out which control tokens of a rendered prompt a client has written.
//
// A template makes one text of messages and markup, and "<|im_end|>" in a message would then end
// the turn: a user could write the system's words. So what a client spells of control tokens is
// replaced by marks, the template renders the marked messages, and the marks tell where that text
// went:
//
//   message    Say <|im_end|>!
//   marked     Say (0)!
//   rendered   <|im_start|>user\nSay (0)!<|im_end|>\n
//   restored   <|im_start|>user\nSay <|im_end|>!<|im_end|>\n
//                                     [literal--]
//
// A mark is some characters of one block of Unicode's private plane 15 that occurs nowhere in the
// request. Templates trim, join, compare and escape text, and leave such characters alone. The
// caller compares what is restored with what the template makes of the messages themselves. If
// they differ, the template treats such text in a way of its own (it cuts it, or looks for it),
// and client text cannot be told from markup.
//
// All that a client sends is marked: messages of every role, descriptions of tools, arguments of
// the template. In the assistant's messages only the words that begin and end turns are marked.
// The others may be the model's own, such as its thoughts.
//
// Not found: a word whose halves stand in two messages, should a template write these without
// anything between them. Words that are no control tokens but the vocabulary's own, as "<think>" in
// many, are tokens in every text.
//
// One request, one thread.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/llama/special_tokens.h"
#include "engine/text.h"

namespace holdfast::llama {

struct RestoredPrompt {
  std::string text;
  std::vector<engine::TextRange> literal;  // what a client wrote of control tokens
};

class ContentMarks {
 public:
  // Both outlive this. `turn_words` are control tokens that begin and end turns.
  ContentMarks(const SpecialTokens& words, std::span<const Token> turn_words)
      : words_(words), turn_words_(turn_words) {}

  // Nothing: the input spells no control token, which is so for nearly all. Throws what the JSON
  // library throws.
  [[nodiscard]] std::optional<engine::ChatInput> mark(const engine::ChatInput& input);
  // Nothing: the template took a mark apart.
  [[nodiscard]] std::optional<RestoredPrompt> restore(std::string_view rendered) const;

 private:
  using Json = nlohmann::ordered_json;
  using Only = std::optional<std::span<const Token>>;

  void choose_block(std::string_view request);
  [[nodiscard]] std::string mark_for(std::string_view text);
  template <typename Mark>
  void mark_field(std::string& json, Mark mark);
  void mark_texts(std::span<std::string* const> parts, Only only);
  void mark_json(Json& value, Only only);
  void mark_arguments(std::string& arguments, Only only);
  void mark_content(Json& content, Only only);
  void mark_call(Json& call, Only only);
  void mark_message(Json& message);

  const SpecialTokens& words_;
  std::span<const Token> turn_words_;
  std::string block_;                // the first three bytes of its characters
  std::vector<std::string> marked_;  // what marks stand for, by their number
  std::size_t marks_ = 0;            // all that were made
};

}  // namespace holdfast::llama
