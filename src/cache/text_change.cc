#include "cache/text_change.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <vector>

namespace holdfast::cache {
namespace {

// In a list of tools a shorter number is the end of a name: "tool_2".
constexpr std::size_t kDateCharactersMin = 4;

// --- words --------------------------------------------------------------------

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Letters, digits, and what dates, clocks and ids are joined with.
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view(":-_./+").find(c) != std::string_view::npos;
}

// The word around `at`, trailing full stops and colons left out.
std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t begin = std::min(at, text.size());
  std::size_t end = begin;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  while (end < text.size() && is_word(text[end])) ++end;
  while (end > begin && (text[end - 1] == '.' || text[end - 1] == ':')) --end;
  return text.substr(begin, end - begin);
}

}  // namespace

std::string_view skip_space(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? std::string_view() : text.substr(begin);
}

WordPair first_differing_words(std::string_view known, std::string_view sent) {
  const auto [a, b] = std::mismatch(known.begin(), known.end(), sent.begin(), sent.end());
  const auto at = static_cast<std::size_t>(a - known.begin());
  return {word_at(known, at), word_at(sent, at)};
}

// --- what kind of change it is ----------------------------------------------

namespace {

// "14:03:12" and "9:59:01" become "0:0:0": the same but for the numbers.
std::string shape_of(std::string_view word) {
  std::string shape;
  for (const char c : word) {
    if (!is_digit(c)) {
      shape += c;
    } else if (!shape.ends_with('0')) {
      shape += '0';
    }
  }
  return shape;
}

// In full, or its first three letters ("Sept" aside).
bool is_calendar_word(std::string_view word) {
  constexpr std::array<std::string_view, 19> kNames = {
      "monday",  "tuesday",   "wednesday", "thursday", "friday",  "saturday", "sunday",
      "january", "february",  "march",     "april",    "may",     "june",     "july",
      "august",  "september", "october",   "november", "december"};
  std::string lower(word);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::any_of(
      kNames, [&](std::string_view name) { return lower == name || lower == name.substr(0, 3); });
}

struct Makeup {
  std::size_t digits = 0;
  std::size_t letters = 0;
};

Makeup makeup_of(std::string_view word) {
  Makeup makeup;
  for (const char c : word) {
    makeup.digits += is_digit(c) ? 1 : 0;
    makeup.letters += std::isalpha(static_cast<unsigned char>(c)) != 0 ? 1 : 0;
  }
  return makeup;
}

// "14:03:12", "2026-11-15T06:41:22Z", "v1.2".
bool is_numeric(std::string_view word) {
  const Makeup makeup = makeup_of(word);
  return makeup.digits > 0 && makeup.digits >= makeup.letters;
}

// "3f2a9c1e", "req_01H8...": long, and letters and digits are mixed.
bool is_mixed(std::string_view word) {
  const Makeup makeup = makeup_of(word);
  return word.size() >= 5 && makeup.digits >= 2 && makeup.letters >= 1;
}

// Ids of one kind are equally long, and their joints are at the same places. Addresses are not ids,
// nor are two versions of one ("draft-07/schema", "draft/2020-12/schema").
bool are_random_ids(const WordPair& words) {
  if (!is_mixed(words.known) || !is_mixed(words.sent)) return false;
  if (words.known.find('/') != words.known.npos) return false;
  return std::ranges::equal(words.known, words.sent, [](char a, char b) {
    const bool joints = std::ispunct(static_cast<unsigned char>(a)) != 0 ||
                        std::ispunct(static_cast<unsigned char>(b)) != 0;
    return a == b || !joints;
  });
}

// "14:03:12" became "9:59:01", Tuesday became Friday.
bool are_times(const WordPair& words) {
  if (is_numeric(words.known) && shape_of(words.known) == shape_of(words.sent)) return true;
  return is_calendar_word(words.known) && is_calendar_word(words.sent);
}

}  // namespace

bool is_volatile(const WordPair& words, bool tools) {
  if (words.known.empty() || words.sent.empty()) return false;
  if (tools) return are_times(words) && words.sent.size() >= kDateCharactersMin;
  return are_times(words) || are_random_ids(words);
}

namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && is_word(text[at])) ++at;
    if (at > begin + 1) words.push_back(text.substr(begin, at - begin));
    if (at == begin) ++at;
  }
  return words;
}

bool holds(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

bool is_reordered(std::string_view known, std::string_view sent) {
  const auto before = words_of(known);
  const auto after = words_of(sent);
  const auto [a, b] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  if (a == before.end() || b == after.end()) return false;
  return holds({b, after.end()}, *a) && holds({a, before.end()}, *b);
}

bool is_tool_text(std::string_view text) {
  return std::count(text.begin(), text.end(), '"') >= 2 && text.find(':') != text.npos;
}

bool opens_thinking(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTags = {
      "<think", "<thought", "<reasoning", "<seed:think", "[THINK]", "<|channel|>analysis"};
  const std::string_view begin = skip_space(text);
  return std::any_of(kTags.begin(), kTags.end(),
                     [&](std::string_view tag) { return begin.starts_with(tag); });
}

bool closes_thinking(std::string_view text) {
  const std::string_view begin = skip_space(text);
  return begin.starts_with("</think") || begin.starts_with("</thought") ||
         begin.starts_with("</reasoning") || begin.starts_with("[/THINK]");
}

bool is_trimmed(std::string_view known, std::string_view sent) {
  const std::string_view a = skip_space(known);
  const std::string_view b = skip_space(sent);
  if (a.size() == known.size() && b.size() == sent.size()) return false;
  const std::size_t length = std::min(a.size(), b.size());
  return a.substr(0, length) == b.substr(0, length);
}

}  // namespace holdfast::cache
