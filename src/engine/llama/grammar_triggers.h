// GrammarTriggers: what a lazy grammar waits for, in the text that is generated.
#pragma once

#include <common.h>

#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "state/tokens.h"

namespace holdfast::llama {

class GrammarTriggers {
 public:
  // Throws std::regex_error, if a template has a wrong pattern.
  explicit GrammarTriggers(const std::vector<common_grammar_trigger>& triggers);

  // The next token. If it completes a trigger: the tokens from the trigger's beginning on, the
  // first perhaps without its first bytes.
  [[nodiscard]] std::optional<std::vector<std::pair<Token, std::string>>> feed(
      Token token, const std::string& piece);

 private:
  struct Pattern {
    std::regex regex;
    bool whole = false;  // tried on the whole text before any part of it
  };

  [[nodiscard]] std::size_t find(std::size_t added) const;

  std::vector<Token> tokens_;
  std::vector<std::string> words_;
  std::vector<Pattern> patterns_;
  std::string text_;
  std::vector<std::pair<Token, std::string>> fed_;
};

}  // namespace holdfast::llama
