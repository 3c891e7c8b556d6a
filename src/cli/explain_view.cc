#include "cli/explain_view.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "cli/chat_json.h"
#include "cli/chat_view.h"
#include "cli/text_parts.h"
#include "cli/text_wrap.h"
#include "state/parts.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

// Fits 80 columns together with its frame.
constexpr int kBarCells = 64;
constexpr std::size_t kTextCharacters = 60;

std::int64_t count_at(const Json& json, const char* key) {
  return static_cast<std::int64_t>(number_at(json, key));
}

// "0.11 s", "4.6 s", "3 min": about two digits.
std::string seconds(double ms) {
  if (ms < 1000.0) return fixed(ms / 1000.0, 2) + " s";
  if (ms < 120'000.0) return fixed(ms / 1000.0, 1) + " s";
  return fixed(ms / 60'000.0, 0) + " min";
}

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "0.0%";
  return fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), 1) + "%";
}

// --- the picture ------------------------------------------------------------------

struct Part {
  std::string_view name;
  std::int64_t tokens = 0;
  std::string_view ascii;
  std::string_view block;
};

std::vector<Part> parts_of(const Json& receipt) {
  const std::int64_t prompt = count_at(receipt, "prompt_tokens");
  const std::int64_t restored = count_at(receipt, "restored_tokens");
  std::int64_t known = std::max(count_at(receipt, "matched_tokens"), restored);
  const Json& missing = child_of(receipt, "missing");
  // To another server: it lies in the folder.
  if (text_at(missing, "why") == "foreign") known = std::max(known, count_at(missing, "position"));
  return {{"reused", restored, "#", "\xE2\x96\x88"},
          {"known but read again", known - restored, "=", "\xE2\x96\x92"},
          {"new", std::max<std::int64_t>(prompt - known, 0), ".", "\xE2\x96\x91"}};
}

// A part that is there has at least one cell.
std::vector<int> cells_of(const std::vector<Part>& parts) {
  std::int64_t whole = 0;
  for (const Part& part : parts) whole += part.tokens;
  std::vector<int> cells;
  int used = 0;
  for (const Part& part : parts) {
    const auto share = whole > 0 ? part.tokens * kBarCells / whole : 0;
    cells.push_back(part.tokens > 0 ? std::max(1, static_cast<int>(share)) : 0);
    used += cells.back();
  }
  if (whole > 0) *std::max_element(cells.begin(), cells.end()) += kBarCells - used;
  return cells;
}

std::string bar_text(const Json& receipt, const ExplainStyle& style) {
  const std::vector<Part> parts = parts_of(receipt);
  const std::vector<int> cells = cells_of(parts);
  std::string bar = "  [";
  std::string legend = "  ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view cell = style.blocks ? parts[i].block : parts[i].ascii;
    for (int n = 0; n < cells[i]; ++n) bar += cell;
    if (parts[i].tokens == 0) continue;
    if (legend.size() > 2) legend += "   ";
    ((legend += cell) += ' ') += parts[i].name;
    legend += ' ' + with_commas(parts[i].tokens);
  }
  return bar + "]\n" + legend + "\n";
}

// --- sentences ----------------------------------------------------------------------

// On one line, quoted, cut at a whole character.
std::string one_line(std::string_view text) {
  const std::string safe = harmless(text);
  std::string line = "\"";
  std::size_t characters = 0;
  for (const char c : safe) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (begins && ++characters > kTextCharacters) return line + "...\"";
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else {
      line += c;
    }
  }
  return line + '"';
}

std::string source_line(const Json& receipt) {
  const std::string from = text_at(receipt, "restored_from");
  std::string line = "From " + (from.empty() || from == "nothing" ? "a fresh start" : from);
  if (from == "live slot") line = "From the slot's own state";
  if (const auto bytes = count_at(receipt, "bytes_fetched"); bytes > 0) {
    line += ", " + human_bytes(static_cast<ByteCount>(bytes)) + " read in " +
            fixed(number_at(receipt, "fetch_ms"), 0) + " ms";
  }
  if (const auto bytes = count_at(receipt, "bytes_restored"); bytes > 0) {
    line += ", " + human_bytes(static_cast<ByteCount>(bytes)) + " brought back in " +
            fixed(number_at(receipt, "restore_ms"), 0) + " ms";
  }
  if (const auto ahead = count_at(receipt, "prewarmed_tokens"); ahead > 0) {
    line += ", " + with_commas(ahead) + " tokens of it read ahead in idle time";
  }
  line += "; slot " + std::to_string(count_at(receipt, "slot"));
  if (const double queued = number_at(receipt, "queued_ms"); queued >= 10.0) {
    line += ", after " + seconds(queued) + " in the queue";
  }
  if (const std::string other = text_at(receipt, "waited_for"); !other.empty()) {
    line += ", waiting for " + harmless(other) + " to read the same";
  }
  line += ".\n";
  if (const std::string exact = text_at(receipt, "exact"); exact == "prompt" || exact == "all") {
    line += exact == "all" ? "Exact: prompt and answer have" : "Exact: the prompt has";
    line += " the bits that a fresh start would give.\n";
  }
  return line;
}

std::string companion_line(const Json& companion) {
  if (!companion.is_object()) return "";
  const std::int64_t drafted = count_at(companion, "drafted");
  std::string line = "Drafts by " + harmless(text_at(companion, "name")) + ": ";
  if (drafted == 0) {
    line += "none";
  } else {
    const std::int64_t accepted = count_at(companion, "accepted");
    line += with_commas(accepted) + " of " + with_commas(drafted) + " tokens accepted (" +
            percent(accepted, drafted) + ")";
  }
  const std::string missing = text_at(companion, "missing");
  return line + (missing.empty() ? ".\n" : ". " + harmless(missing) + "\n");
}

std::string difference_text(const Json& difference) {
  if (!difference.is_object()) return "";
  std::string text =
      "\nIt parts from what was known at token " + with_commas(count_at(difference, "position"));
  if (const std::string place = text_at(difference, "in"); !place.empty()) {
    text += ", in " + harmless(place);
    if (child_of(difference, "message").is_number())
      text += " (" + harmless(text_at(difference, "role")) + ")";
  }
  return text + ":\n  known  " + one_line(text_at(difference, "known_text")) + "\n  sent   " +
         one_line(text_at(difference, "sent_text")) + "\n";
}

std::string notes_text(const Json& notes, const ExplainStyle& style) {
  std::string text;
  if (!notes.is_array()) return text;
  for (const Json& note : notes)
    if (note.is_string()) text += wrap_text(harmless(note.get<std::string>()), style.width, 0);
  return text;
}

std::string paragraph(std::string_view title, const std::string& text, const ExplainStyle& style) {
  if (text.empty()) return "";
  return "\n" + wrap_text(std::string(title) + " " + harmless(text), style.width, 0);
}

// "06:41:22" of "2026-11-15T06:41:22.123Z".
std::string clock_of(const Json& receipt) {
  const std::string time = text_at(receipt, "time");
  return time.size() >= 19 ? harmless(time.substr(11, 8)) : "";
}

// --- a session ----------------------------------------------------------------------

// What comes first of: something known was not there; the prompt differs; nothing was known.
std::string cause_of(const Json& receipt) {
  const Json& missing = child_of(receipt, "missing");
  // A prompt that parts inside a chunk is read from the chunk's beginning: it parts all the same.
  if (const std::string why = text_at(missing, "why"); !why.empty() && why != "grid") {
    std::string words = harmless(why);
    std::ranges::replace(words, '_', ' ');
    return words + ", token " + with_commas(count_at(missing, "position"));
  }
  const Json& difference = child_of(receipt, "difference");
  if (difference.is_object() && !text_at(difference, "known_text").empty())
    return "differs at token " + with_commas(count_at(difference, "position"));
  const bool cold = count_at(receipt, "matched_tokens") == 0;
  return cold ? "nothing was known" : "";
}

std::string aligned(std::string text, std::size_t width) {
  text.insert(0, width - std::min(width, text.size()), ' ');
  return text;
}

std::string session_line(const Json& receipt) {
  const std::int64_t prompt = count_at(receipt, "prompt_tokens");
  std::string line = aligned(clock_of(receipt), 8) + aligned(with_commas(prompt), 10) +
                     aligned(percent(count_at(receipt, "restored_tokens"), prompt), 8) +
                     aligned(seconds(number_at(receipt, "prompt_ms")), 9);
  const std::string cause = cause_of(receipt);
  return line + (cause.empty() ? "" : "  " + cause) + "\n";
}

// The fields that receipt_headline() reads, added up.
Json sum_of(const Json& receipts) {
  Json sum;
  for (const char* field :
       {"prompt_tokens", "restored_tokens", "recomputed_tokens", "prompt_ms", "saved_ms"}) {
    double all = 0.0;
    for (const Json& receipt : receipts) all += number_at(receipt, field);
    sum[field] = all;
  }
  return sum;
}

}  // namespace

ExplainStyle explain_style(const Environment& env) {
  ExplainStyle style;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto found = env.find(name);
    if (found == env.end() || found->second.empty()) continue;
    std::string locale = found->second;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    style.blocks =
        locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    break;
  }
  return style;
}

std::string receipt_headline(const Json& receipt) {
  const std::int64_t prompt = count_at(receipt, "prompt_tokens");
  const std::int64_t restored = count_at(receipt, "restored_tokens");
  std::string line = with_commas(restored) + " of " + with_commas(prompt) +
                     " prompt tokens reused (" + percent(restored, prompt) + "), " +
                     with_commas(count_at(receipt, "recomputed_tokens")) + " read in " +
                     seconds(number_at(receipt, "prompt_ms"));
  if (const double saved = number_at(receipt, "saved_ms"); saved >= 10.0) {
    line += "; saved about " + seconds(saved);
  }
  return line;
}

std::string receipt_text(const Json& receipt, const ExplainStyle& style) {
  const std::string answer = text_at(receipt, "response");
  std::string text =
      (answer.empty() ? text_at(receipt, "id") : answer) + " at " + clock_of(receipt) + " UTC";
  const Json& complete = child_of(receipt, "complete");
  if (complete.is_boolean() && !complete.get<bool>()) text += ", still running";
  text = harmless(text) + "\n" + receipt_headline(receipt) + "\n\n";
  text += bar_text(receipt, style) + "\n" + source_line(receipt);
  text += companion_line(child_of(receipt, "companion"));
  text += notes_text(child_of(receipt, "notes"), style);
  text += difference_text(child_of(receipt, "difference"));
  text += paragraph("Why not more:", text_at(child_of(receipt, "missing"), "sentence"), style);
  if (const std::string proof = text_at(receipt, "proof"); !proof.empty()) {
    text += paragraph("Computed again while nobody waited:", proof, style);
  }
  return text + paragraph("What would help:", text_at(receipt, "advice"), style);
}

std::string session_table(const Json& receipts) {
  if (!receipts.is_array() || receipts.empty()) return "";
  std::string text = "    time    prompt  reused     read  why not more\n";
  for (auto receipt = receipts.rbegin(); receipt != receipts.rend(); ++receipt)
    text += session_line(*receipt);
  const bool one = receipts.size() == 1;
  return text + std::to_string(receipts.size()) + (one ? " request: " : " requests: ") +
         receipt_headline(sum_of(receipts)) + "\n";
}

std::string receipt_lines(const Json& receipts) {
  std::string text;
  if (!receipts.is_array()) return text;
  for (const Json& receipt : receipts) {
    const std::int64_t prompt = count_at(receipt, "prompt_tokens");
    std::string share = percent(count_at(receipt, "restored_tokens"), prompt);
    share.insert(0, 6 - std::min<std::size_t>(share.size(), 6), ' ');
    text += clock_of(receipt) + "  " + share + " of " + with_commas(prompt) + "  " +
            harmless(text_at(receipt, "response")) + "\n";
  }
  return text;
}

}  // namespace holdfast::cli
