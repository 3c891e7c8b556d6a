#include "cache/advice.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "state/parts.h"

namespace holdfast::cache {
namespace {

// Fewer tokens than the smallest chunk are not worth a word.
constexpr TokenPos kWorthMentioning = 64;
// Templates leave reasoning out by design; only a long way is worth a setting. The
// new message is part of it, because a receipt does not say where it begins.
constexpr TokenPos kReasoningWorthMentioning = 512;
// A message begins with its header ("<|im_start|>assistant\n"), which is known.
constexpr TokenPos kHeaderTokensMax = 16;
// In a list of tools a shorter number is the end of a name: "tool_2".
constexpr std::size_t kDateCharactersMin = 4;
// Two quotes fit a line of the terminal beside the sentence.
constexpr std::size_t kQuoteCharacters = 20;

// --- words --------------------------------------------------------------------

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Letters, digits, and what dates, clocks and ids are joined with.
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view(":-_./+").find(c) != std::string_view::npos;
}

std::string_view skip_space(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? std::string_view() : text.substr(begin);
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

struct WordPair {
  std::string_view known;
  std::string_view sent;
};

WordPair first_differing_words(std::string_view known, std::string_view sent) {
  const auto [a, b] = std::mismatch(known.begin(), known.end(), sent.begin(), sent.end());
  const auto at = static_cast<std::size_t>(a - known.begin());
  return {word_at(known, at), word_at(sent, at)};
}

// At most kQuoteCharacters, on one line, in quotes.
std::string quote(std::string_view text) {
  std::string quoted = "\"";
  std::size_t characters = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (begins && ++characters > kQuoteCharacters) return quoted + "...\"";
    quoted += static_cast<unsigned char>(c) < 0x20 || c == '"' ? ' ' : c;
  }
  return quoted + '"';
}

// --- what kind of change it is ----------------------------------------------

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

bool is_calendar_word(std::string_view word) {
  constexpr std::array<std::string_view, 19> kNames = {
      "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar",
      "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  std::string start(word.substr(0, 3));
  for (char& c : start) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kNames.begin(), kNames.end(), start) != kNames.end();
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
bool is_random_id(std::string_view word) {
  const Makeup makeup = makeup_of(word);
  return word.size() >= 5 && makeup.digits >= 2 && makeup.letters >= 1;
}

// A clock, a date, a counter or an id: what changes from request to request.
bool is_volatile(const WordPair& words) {
  if (words.known.empty() || words.sent.empty()) return false;
  if (is_numeric(words.known) && shape_of(words.known) == shape_of(words.sent)) return true;
  if (is_calendar_word(words.known) && is_calendar_word(words.sent)) return true;
  return is_random_id(words.known) && is_random_id(words.sent);
}

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

// Where the texts part, each goes on with a word that the other has later.
bool is_reordered(std::string_view known, std::string_view sent) {
  const auto before = words_of(known);
  const auto after = words_of(sent);
  const auto [a, b] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  if (a == before.end() || b == after.end()) return false;
  return holds({b, after.end()}, *a) && holds({a, before.end()}, *b);
}

// Tool definitions are JSON in every template that we have seen.
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

// Also where the template writes an empty thought in place of the real one.
bool reasoning_left_out(const Difference& difference, std::string_view known,
                        std::string_view sent) {
  if (difference.position - difference.message_begin > kHeaderTokensMax) return false;
  return (opens_thinking(known) && !opens_thinking(sent)) ||
         (closes_thinking(sent) && !closes_thinking(known));
}

// One text is the other without its leading white space.
bool is_trimmed(std::string_view known, std::string_view sent) {
  const std::string_view a = skip_space(known);
  const std::string_view b = skip_space(sent);
  if (a.size() == known.size() && b.size() == sent.size()) return false;
  const std::size_t length = std::min(a.size(), b.size());
  return a.substr(0, length) == b.substr(0, length);
}

// --- sentences ----------------------------------------------------------------

std::string where_is(const Difference& difference) {
  if (difference.message < 0) return "The prompt at token " + std::to_string(difference.position);
  return "Message " + std::to_string(difference.message) + " (" + role_name(difference.role) + ")";
}

std::string changed_from(const WordPair& words) {
  return " (" + quote(words.known) + " became " + quote(words.sent) + ")";
}

std::string system_advice(const Difference& difference, std::string_view known,
                          std::string_view sent) {
  const WordPair words = first_differing_words(known, sent);
  const std::string where = where_is(difference);
  if (is_reordered(known, sent)) {
    return where + " holds the same words in another order" + changed_from(words) +
           ": keep tools and instructions in one order, or all that follows is read again.";
  }
  const bool tools = difference.message >= 0 && is_tool_text(known) && is_tool_text(sent);
  if (is_volatile(words) && (!tools || words.sent.size() >= kDateCharactersMin)) {
    return where + " holds something that changes" + changed_from(words) +
           ": move clocks, dates and ids to its end or into the last user message, or all that "
           "follows is read again.";
  }
  if (tools) {
    return where + " lists other tools than before" + changed_from(words) +
           ": send the same tools in the same order with each request, or all that follows is "
           "read again.";
  }
  return "";
}

std::string assistant_advice(const Difference& difference, std::string_view known,
                             std::string_view sent, TokenPos lost) {
  const std::string where = where_is(difference);
  if (reasoning_left_out(difference, known, sent)) {
    if (lost < kReasoningWorthMentioning) return "";
    return where +
           " came back without its reasoning, which costs only the reading of its answer and of "
           "what follows; to keep it, send reasoning_content back in the history and set "
           "\"chat_template_kwargs\": {\"preserve_thinking\": true}.";
  }
  if (is_trimmed(known, sent)) {
    return where +
           " came back with other white space than the model wrote: send answers back "
           "unchanged, untrimmed.";
  }
  return where + " is not what the model wrote" +
         changed_from({skip_space(known), skip_space(sent)}) + ": send answers back unchanged.";
}

std::string difference_advice(const Receipt& receipt, std::string_view known,
                              std::string_view sent) {
  const Difference& difference = *receipt.difference;
  const TokenPos lost = receipt.prompt_tokens - difference.position;
  // Where either text ends the prompt was only continued, or cut short.
  if (known.empty() || sent.empty() || lost < kWorthMentioning) return "";
  switch (difference.role) {
    case Role::kUnknown:
    case Role::kSystem: return system_advice(difference, known, sent);
    case Role::kAssistant: return assistant_advice(difference, known, sent, lost);
    case Role::kTool:
      return where_is(difference) +
             " was shortened or changed after it had been sent: change tool results before they "
             "are first sent, or many at once, because all that follows is read again.";
    case Role::kUser: return "";  // another question, or an edit: both are meant
  }
  return "";
}

std::string foreign_advice(const Missing& missing) {
  if (!missing.flags.empty()) {
    return "The cache folder has states of this prompt for a server that is started with " +
           missing.flags + "; without that each conversation is read once more.";
  }
  return "The cache folder has states of this prompt that were made by " + missing.made_by +
         ": run the server as it was then, or let it read each conversation once more.";
}

std::string missing_advice(const Receipt& receipt, ByteCount budget) {
  switch (receipt.missing.why) {
    case MissReason::kReuseOff:
      return "The request says \"cache_prompt\": false; without it what is known would be reused.";
    case MissReason::kCacheOff:
      return "The server keeps no states in memory; give it some with --cache-ram, for example "
             "4096 "
             "(MiB).";
    case MissReason::kForeign: return foreign_advice(receipt.missing);
    case MissReason::kEvicted: break;
    default: return "";
  }
  if (receipt.missing.evicted.reason != tree::EvictReason::kBudget) return "";
  if (budget == 0) return "The cache had no room for it: raise --cache-ram.";
  return "The cache of " + human_bytes(budget) + " had no room for it: raise --cache-ram, for " +
         "example to " + std::to_string(2 * (budget >> 20U)) + " (MiB).";
}

std::string eviction_cause(tree::EvictReason reason) {
  switch (reason) {
    case tree::EvictReason::kBudget: return "because the cache was full";
    case tree::EvictReason::kThinned: return "because one nearby serves almost as well";
    case tree::EvictReason::kDeadWeight:
      return "because nothing could be restored from it any more";
    case tree::EvictReason::kCorrupt: return "because it failed its verification";
    case tree::EvictReason::kCleared: return "because someone cleared the cache";
    case tree::EvictReason::kDisproved:
      return "because a state came out otherwise when it was computed again";
    case tree::EvictReason::kNone: break;
  }
  return "for a reason that was not noted";
}

std::string evicted_sentence(const Receipt& receipt) {
  std::string when;
  if (const auto unix_ms = evicted_at(receipt)) {
    when = " at " + utc_text(*unix_ms).substr(11, 8) + " UTC";
  }
  return "The state at token " + std::to_string(receipt.missing.position) + " was dropped" + when +
         " " + eviction_cause(receipt.missing.evicted.reason) + ".";
}

}  // namespace

std::string missing_sentence(const Receipt& receipt) {
  const std::string at = std::to_string(receipt.missing.position);
  switch (receipt.missing.why) {
    case MissReason::kNone: return "";
    case MissReason::kGrid:
      return "The prompt parts inside a chunk; reading begins at the cut before it, so that the "
             "answer is exactly that of a fresh start.";
    case MissReason::kNeverTaken:
      return "No state was kept between token " + std::to_string(receipt.restored) + " and token " +
             at + ".";
    case MissReason::kEvicted: return evicted_sentence(receipt);
    case MissReason::kDamaged:
      return "The state at token " + at + " failed its verification and was not used.";
    case MissReason::kDeclined:
      return "The engine could not bring back the state at token " + at + ".";
    case MissReason::kReuseOff: return "The request asked for no reuse.";
    case MissReason::kCacheOff:
      return "The server keeps no states in memory, and no slot held this prompt.";
    case MissReason::kForeign:
      return "The cache folder holds states of this prompt, up to token " + at +
             " at least, but they were made by " + receipt.missing.made_by +
             " and cannot be used here.";
  }
  return "";
}

std::optional<std::int64_t> evicted_at(const Receipt& receipt) {
  if (!receipt.missing.evicted || receipt.unix_ms == 0) return std::nullopt;
  return receipt.unix_ms - std::llround(receipt.missing.evicted_ago_ms);
}

// What costs more tokens is spoken of.
std::string advice_for(const Receipt& receipt, std::string_view known_text,
                       std::string_view sent_text, ByteCount budget) {
  const TokenPos missed = receipt.missing.position - receipt.restored;
  std::string about_missing;
  if (missed >= kWorthMentioning) about_missing = missing_advice(receipt, budget);
  // Another server knew the prompt beyond the difference, so that is not what costs.
  if (!receipt.difference || receipt.missing.why == MissReason::kForeign) return about_missing;
  const TokenPos lost = receipt.prompt_tokens - receipt.difference->position;
  if (!about_missing.empty() && missed >= lost) return about_missing;
  std::string about_difference = difference_advice(receipt, known_text, sent_text);
  return about_difference.empty() ? about_missing : about_difference;
}

std::string utc_text(std::int64_t unix_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(unix_ms)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()),
                static_cast<int>(clock.subseconds().count()));
  return text.data();
}

}  // namespace holdfast::cache
