#include "cache/advice.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "cache/text_change.h"
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
// Two quotes fit a line of the terminal beside the sentence.
constexpr std::size_t kQuoteCharacters = 20;

constexpr ByteCount kMebibyte = ByteCount{1} << 20U;

// --- sentences ----------------------------------------------------------------

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

// Also where the template writes an empty thought in place of the real one.
bool reasoning_left_out(const Difference& difference, std::string_view known,
                        std::string_view sent) {
  const TokenPos begin = difference.section ? difference.section->begin : difference.message_begin;
  if (difference.position - begin > kHeaderTokensMax) return false;
  return (opens_thinking(known) && !opens_thinking(sent)) ||
         (closes_thinking(sent) && !closes_thinking(known));
}

// The client's word for it, where there is one.
std::string where_is(const Difference& difference) {
  if (difference.section && !difference.section->name.empty())
    return section_text(*difference.section);
  const std::string at = " at token " + std::to_string(difference.position);
  if (difference.span < 0) return "The prompt" + at;
  return std::string("The message of the role ") + role_name(difference.role) + at;
}

Role role_of(const Difference& difference) {
  return difference.section ? difference.section->role : difference.role;
}

bool lists_tools(const Difference& difference, std::string_view known, std::string_view sent) {
  // Where they begin, a shorter system message may have ended.
  if (const auto& section = difference.section)
    return section->name == kToolsSection && difference.position > section->begin;
  return difference.span >= 0 && is_tool_text(known) && is_tool_text(sent);
}

// The first words that differ; the texts themselves where these are no words.
WordPair shown_words(std::string_view known, std::string_view sent) {
  const WordPair words = first_differing_words(known, sent);
  if (!words.known.empty() || !words.sent.empty()) return words;
  return {skip_space(known), skip_space(sent)};
}

std::string changed_from(const WordPair& words) {
  return " (" + quote(words.known) + " became " + quote(words.sent) + ")";
}

std::string system_advice(const Difference& difference, std::string_view known,
                          std::string_view sent) {
  const WordPair words = shown_words(known, sent);
  const std::string where = where_is(difference);
  if (is_reordered(known, sent)) {
    return where + " holds the same words in another order" + changed_from(words) +
           ": keep tools and instructions in one order, or all that follows is read again.";
  }
  const bool tools = lists_tools(difference, known, sent);
  if (is_volatile(words, tools)) {
    return where + " holds something that changes" + changed_from(words) +
           ": move clocks, dates and ids to its end or into the last user message, or all that "
           "follows is read again.";
  }
  // Prompts that share no more than the template's opening are those of two clients.
  if (tools && difference.position >= kWorthMentioning) {
    return where + " is not the list of before" + changed_from(words) +
           ": send the same tools in the same order with each request, or all that follows is "
           "read again.";
  }
  return "";
}

// It is worth a word only where somebody can change it. A template may leave the thoughts of
// earlier turns out: then to send them helps within a turn only, between calls of tools.
std::string reasoning_advice(const Difference& difference, const AdviceFacts& facts) {
  const std::string where = where_is(difference);
  const std::string setting = "\"chat_template_kwargs\": {\"preserve_thinking\": true}";
  if (!difference.section) {
    return where +
           " is without its reasoning, so that its answer and what follows are read again. "
           "It stays in the prompt if the client sends it back and the template shows it.";
  }
  const PromptSection& section = *difference.section;
  if (section.has_reasoning) {
    if (!facts.reasoning_setting) return "";
    return where +
           " has its reasoning, but the template leaves it out, so that its answer and "
           "what follows are read again; to keep it in the prompt, set " +
           setting + ".";
  }
  if (!facts.shows_reasoning && !section.in_last_turn) return "";
  return where +
         " came back without its reasoning, so that its answer and what follows are read "
         "again; to keep it, send the reasoning back in the history" +
         (facts.reasoning_setting ? " and set " + setting : "") + ".";
}

std::string assistant_advice(const Difference& difference, std::string_view known,
                             std::string_view sent, TokenPos lost, const AdviceFacts& facts) {
  const std::string where = where_is(difference);
  if (reasoning_left_out(difference, known, sent)) {
    return lost < kReasoningWorthMentioning ? "" : reasoning_advice(difference, facts);
  }
  if (is_trimmed(known, sent)) {
    return where +
           " came back with other white space than the model wrote: send answers back "
           "unchanged, untrimmed.";
  }
  return where + " is not what is known of it" +
         changed_from({skip_space(known), skip_space(sent)}) +
         ": send answers back as the model wrote them.";
}

std::string difference_advice(const Receipt& receipt, std::string_view known, std::string_view sent,
                              const AdviceFacts& facts) {
  const Difference& difference = *receipt.difference;
  const TokenPos lost = receipt.prompt_tokens - difference.position;
  // Where either text ends the prompt was only continued, or cut short.
  if (known.empty() || sent.empty() || lost < kWorthMentioning) return "";
  switch (role_of(difference)) {
    case Role::kUnknown:
    case Role::kSystem: return system_advice(difference, known, sent);
    case Role::kAssistant: return assistant_advice(difference, known, sent, lost, facts);
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
  const ByteCount enough =
      receipt.missing.kept_with > budget ? receipt.missing.kept_with : 2 * budget;
  return "The cache of " + human_bytes(budget) + " had no room for it: raise --cache-ram, for " +
         "example to " + std::to_string((enough + kMebibyte - 1) / kMebibyte) + " (MiB).";
}

std::string eviction_cause(tree::EvictReason reason) {
  switch (reason) {
    case tree::EvictReason::kBudget: return "because the cache was full";
    case tree::EvictReason::kThinned: return "because one nearby serves almost as well";
    case tree::EvictReason::kDeadWeight:
      return "because nothing could be restored from it any more";
    case tree::EvictReason::kCorrupt: return "because it failed its verification";
    case tree::EvictReason::kCleared: return "because someone asked for it";
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

// What all prompts have in common, a template's opening, is no reason to speak of chunks.
std::string grid_sentence(const Receipt& receipt) {
  if (receipt.restored == 0) {
    return "Only the first " + std::to_string(receipt.matched) +
           " tokens had been seen before, which is less than is kept; the rest is new.";
  }
  return "The prompt parts inside a chunk; reading begins at the cut before it, so that the "
         "answer is exactly that of a fresh start.";
}

}  // namespace

std::string missing_sentence(const Receipt& receipt) {
  const std::string at = std::to_string(receipt.missing.position);
  switch (receipt.missing.why) {
    case MissReason::kNone: return "";
    case MissReason::kGrid: return grid_sentence(receipt);
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
                       std::string_view sent_text, const AdviceFacts& facts) {
  const TokenPos missed = receipt.missing.position - receipt.restored;
  std::string about_missing;
  if (missed >= kWorthMentioning) about_missing = missing_advice(receipt, facts.budget);
  // Another server knew the prompt beyond the difference, so that is not what costs.
  if (!receipt.difference || receipt.missing.why == MissReason::kForeign) return about_missing;
  const TokenPos lost = receipt.prompt_tokens - receipt.difference->position;
  if (!about_missing.empty() && missed >= lost) return about_missing;
  std::string about_difference = difference_advice(receipt, known_text, sent_text, facts);
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
