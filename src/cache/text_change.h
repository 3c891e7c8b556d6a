// What kind of change lies between two texts: a few tokens that were known, and those that were
// sent in their place.
//
// Each question asks for evidence in both texts; in doubt the answer is no. Pure functions; any
// thread.
#pragma once

#include <string_view>

namespace holdfast::cache {

struct WordPair {
  std::string_view known;
  std::string_view sent;
};

[[nodiscard]] std::string_view skip_space(std::string_view text);

// The words around the first letter that differs.
[[nodiscard]] WordPair first_differing_words(std::string_view known, std::string_view sent);

// A clock, a date, a counter or an id: what changes from request to request. The names and schemas
// of tools hold numbers and versions of all kinds; with `tools` only times count.
[[nodiscard]] bool is_volatile(const WordPair& words, bool tools);

// Where the texts part, each goes on with a word that the other has later.
[[nodiscard]] bool is_reordered(std::string_view known, std::string_view sent);

// Tool definitions are JSON in every template that we have seen.
[[nodiscard]] bool is_tool_text(std::string_view text);

[[nodiscard]] bool opens_thinking(std::string_view text);
[[nodiscard]] bool closes_thinking(std::string_view text);

// One text is the other without its leading white space.
[[nodiscard]] bool is_trimmed(std::string_view known, std::string_view sent);

}  // namespace holdfast::cache
