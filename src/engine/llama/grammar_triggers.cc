#include "engine/llama/grammar_triggers.h"

#include <algorithm>

namespace holdfast::llama {

namespace {

bool anchored(const std::string& pattern) {
  return pattern.starts_with('^') && pattern.ends_with('$');
}

std::string whole_pattern(const std::string& pattern) {
  if (pattern.empty()) return "^$";
  return (pattern.starts_with('^') ? "" : "^") + pattern + (pattern.ends_with('$') ? "" : "$");
}

// Where the first group that matched begins, or the match itself.
std::size_t begin_of(const std::smatch& match) {
  for (std::size_t i = 1; i < match.size(); ++i) {
    if (match.length(i) > 0) return static_cast<std::size_t>(match.position(i));
  }
  return static_cast<std::size_t>(match.position(0));
}

}  // namespace

GrammarTriggers::GrammarTriggers(const std::vector<common_grammar_trigger>& triggers) {
  for (const common_grammar_trigger& trigger : triggers) {
    switch (trigger.type) {
      case COMMON_GRAMMAR_TRIGGER_TYPE_TOKEN: tokens_.push_back(trigger.token); break;
      case COMMON_GRAMMAR_TRIGGER_TYPE_WORD: words_.push_back(trigger.value); break;
      case COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN:
        patterns_.push_back({std::regex(trigger.value), anchored(trigger.value)});
        break;
      case COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN_FULL:
        patterns_.push_back({std::regex(whole_pattern(trigger.value)), true});
        break;
    }
  }
}

std::optional<std::vector<std::pair<Token, std::string>>> GrammarTriggers::feed(
    Token token, const std::string& piece) {
  using Fed = std::vector<std::pair<Token, std::string>>;
  if (std::ranges::find(tokens_, token) != tokens_.end()) return Fed{{token, piece}};
  fed_.emplace_back(token, piece);
  text_ += piece;
  const std::size_t begin = find(piece.size());
  if (begin == std::string::npos) return std::nullopt;
  Fed from_there;
  std::size_t at = 0;
  for (const auto& [one, text] : fed_) {
    const std::size_t cut = begin > at ? begin - at : 0;
    at += text.size();
    if (at > begin) from_there.emplace_back(one, text.substr(cut));
  }
  return from_there;
}

// `added` bytes are new at the end of the text.
std::size_t GrammarTriggers::find(std::size_t added) const {
  for (const std::string& word : words_) {
    const std::size_t tail = added + word.size();
    const std::size_t from = text_.size() > tail ? text_.size() - tail : 0;
    if (const auto at = text_.find(word, from); at != std::string::npos) return at;
  }
  for (const Pattern& pattern : patterns_) {
    std::smatch match;
    if (pattern.whole && std::regex_match(text_, match, pattern.regex)) return begin_of(match);
    if (std::regex_search(text_, match, pattern.regex)) return begin_of(match);
  }
  return std::string::npos;
}

}  // namespace holdfast::llama
