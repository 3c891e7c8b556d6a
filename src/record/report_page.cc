#include "record/report_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "cache/advice.h"
#include "record/report_style.h"

namespace holdfast::record {

namespace {

constexpr std::size_t kBarsMax = 3000;  // a browser draws these at once
constexpr std::size_t kRowsMax = 1000;

// --- numbers for people ---------------------------------------------------------------

std::string number(double value, int decimals = 0) {
  if (!std::isfinite(value) || std::abs(value) > 1e15) return "?";
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

// 1234567 as 1 234 567, with thin spaces.
std::string grouped(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += "\u202f";
    out += digits[i];
  }
  return out;
}

std::string count(TokenPos value) {
  return grouped(static_cast<std::uint64_t>(std::max(value, 0)));
}

std::string duration(double ms) {
  if (!std::isfinite(ms) || ms < 0) return "?";
  if (ms < 1000) return number(ms, ms < 10 ? 1 : 0) + " ms";
  if (ms < 120'000) return number(ms / 1000, 1) + " s";
  return number(ms / 60'000, 1) + " min";
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "0 %";
  return number(100.0 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
}

std::string element(const std::string& tag, const std::string& inside,
                    const std::string& kind = "") {
  return "<" + tag + (kind.empty() ? "" : " class=\"" + kind + "\"") + ">" + inside + "</" + tag +
         ">";
}

// --- what a request was, in lines ------------------------------------------------------

std::string source_text(const cache::Receipt& receipt) {
  switch (receipt.source) {
    case plan::StartSource::kNothing: return "nothing";
    case plan::StartSource::kLive: return "its slot";
    case plan::StartSource::kSnapshotInPlace: return "slot + memory";
    case plan::StartSource::kMemory: return receipt.fetched > 0 ? "the cache folder" : "memory";
  }
  return "?";
}

const char* source_class(const cache::Receipt& receipt) {
  if (receipt.source == plan::StartSource::kLive) return "live";
  return receipt.fetched > 0 ? "below" : "memory";
}

std::string details(const ReplayedRequest& request, const RecordingHeader& header) {
  const cache::Receipt& receipt = request.receipt;
  const PromptParts parts = parts_of(receipt);
  std::string text = "request " + std::to_string(request.number) + " on slot " +
                     std::to_string(receipt.slot) + ", " + cache::utc_text(receipt.unix_ms) + "\n";
  text += count(receipt.prompt_tokens) + " tokens: " + count(parts.restored) + " from " +
          source_text(receipt) + ", " + count(receipt.recomputed) + " read";
  if (parts.missed > 0) {
    text += "\n" + count(parts.missed) + " of them were known: " + reason_text(receipt.missing.why);
  }
  if (receipt.difference) {
    text += "\nparts from what was known at token " + count(receipt.difference->position);
    if (receipt.difference->span >= 0) {
      text += std::string(", in a message of the role ") + role_name(receipt.difference->role);
    }
  }
  text += "\nqueued " + duration(receipt.queued_ms) + ", restored in " +
          duration(receipt.restore_ms) + ", prompt in " + duration(receipt.prompt_ms) +
          ", answer of " + count(request.answer_tokens) + " in " + duration(request.answer_ms) +
          " (" + cache::request_end_name(request.end) + ")";
  if (!receipt.waited_for.empty()) text += "\nwaited for " + receipt.waited_for;
  if (const std::string help = advice_of(request, header); !help.empty()) text += "\n" + help;
  if (!request.differences.empty()) text += "\nTHE REPLAY DIFFERS: " + request.differences[0].field;
  return text;
}

// --- charts ------------------------------------------------------------------------------

struct Chart {
  double bar = 8.0;  // width of one, with its gap
  double height = 180.0;
  double top = 0.0;  // the largest value
  std::string body;

  [[nodiscard]] double scaled(double value) const {
    return top > 0 && std::isfinite(value) ? std::clamp(value / top, 0.0, 1.0) * height : 0.0;
  }
  // A piece of a bar, from `base` up. Returns where the next one stands.
  double piece(std::size_t index, double base, double value, const char* kind) {
    const double tall = scaled(value);
    if (tall <= 0) return base;
    body += "<rect x=\"" + number(static_cast<double>(index) * bar, 1) + "\" y=\"" +
            number(height - base - tall, 1) + "\" width=\"" + number(bar * 0.82, 1) +
            "\" height=\"" + number(std::max(tall, 0.6), 1) + "\" class=\"" + kind + "\"/>";
    return base + tall;
  }
  // Covers the whole column: what the pointer is over.
  void column(std::size_t index, const ReplayedRequest& request, const std::string& title) {
    body += "<a href=\"#r" + std::to_string(request.number) + "\"><rect x=\"" +
            number(static_cast<double>(index) * bar, 1) + "\" y=\"0\" width=\"" + number(bar, 1) +
            "\" height=\"" + number(height, 0) + "\" class=\"pick\"><title>" + html_escaped(title) +
            "</title></rect></a>";
  }
  [[nodiscard]] std::string svg(std::size_t bars, const std::string& label) const {
    const std::string width = number(std::max(static_cast<double>(bars) * bar, 60.0), 0);
    std::string lines;
    for (const double share : {0.25, 0.5, 0.75, 1.0}) {
      lines += "<line x1=\"0\" x2=\"" + width + "\" y1=\"" + number(height * (1 - share), 1) +
               "\" y2=\"" + number(height * (1 - share), 1) + "\" class=\"grid\"/>";
    }
    return "<svg role=\"img\" aria-label=\"" + html_escaped(label) + "\" width=\"" + width +
           "\" height=\"" + number(height, 0) + "\">" + lines + body + "</svg>";
  }
};

double bar_width(std::size_t bars) {
  return std::clamp(1000.0 / static_cast<double>(std::max<std::size_t>(bars, 1)), 3.0, 22.0);
}

std::string scale(const std::string& top) {
  return "<div class=\"scale\"><span>" + top + "</span><span>0</span></div>";
}

std::string token_chart(const ReplayOutcome& outcome, std::size_t bars) {
  Chart chart;
  chart.bar = bar_width(bars);
  for (std::size_t i = 0; i < bars; ++i) {
    chart.top = std::max(chart.top, static_cast<double>(outcome.requests[i].receipt.prompt_tokens));
  }
  for (std::size_t i = 0; i < bars; ++i) {
    const ReplayedRequest& request = outcome.requests[i];
    const PromptParts parts = parts_of(request.receipt);
    double at = chart.piece(i, 0, parts.restored, source_class(request.receipt));
    at = chart.piece(i, at, parts.missed, "missed");
    const TokenPos changed = behind_change(request, outcome.header);
    at = chart.piece(i, at, changed, "changed");
    chart.piece(i, at, parts.fresh - changed, "fresh");
    chart.column(i, request, details(request, outcome.header));
  }
  return scale(number(chart.top)) + chart.svg(bars, "Tokens of each prompt");
}

std::string time_chart(const ReplayOutcome& outcome, std::size_t bars) {
  Chart chart;
  chart.bar = bar_width(bars);
  chart.height = 110.0;
  const auto before = [](const cache::Receipt& receipt) {
    return std::isfinite(receipt.queued_ms) ? std::max(receipt.queued_ms, 0.0) : 0.0;
  };
  for (std::size_t i = 0; i < bars; ++i) {
    const cache::Receipt& receipt = outcome.requests[i].receipt;
    const double all = before(receipt) + receipt.prompt_ms;
    if (std::isfinite(all)) chart.top = std::max(chart.top, all);
  }
  for (std::size_t i = 0; i < bars; ++i) {
    const ReplayedRequest& request = outcome.requests[i];
    const PromptParts parts = parts_of(request.receipt);
    double at = chart.piece(i, 0, before(request.receipt), "queued");
    at = chart.piece(i, at, request.receipt.restore_ms, "memory");
    at = chart.piece(i, at, parts.missed_ms, "missed");
    const TokenPos changed = behind_change(request, outcome.header);
    at = chart.piece(i, at, parts.ms_per_token * changed, "changed");
    chart.piece(i, at, parts.ms_per_token * (parts.fresh - changed), "fresh");
    chart.column(i, request, details(request, outcome.header));
  }
  return scale(duration(chart.top)) + chart.svg(bars, "Time until each answer began");
}

std::string legend(std::initializer_list<std::pair<const char*, const char*>> entries) {
  std::string text;
  for (const auto& [kind, name] : entries) {
    text += "<span><svg width=\"12\" height=\"12\"><rect width=\"12\" height=\"12\" class=\"" +
            std::string(kind) + "\"/></svg> " + name + "</span>";
  }
  return "<div class=\"legend\">" + text + "</div>";
}

// --- parts of the page --------------------------------------------------------------------

std::string tile(const std::string& value, const std::string& what) {
  return "<div class=\"tile\"><b>" + value + "</b><span>" + what + "</span></div>";
}

std::string tiles(const RecordingSummary& all) {
  return "<div class=\"tiles\">" + tile(grouped(all.requests), "requests") +
         tile(grouped(all.prompt_tokens), "tokens sent") +
         tile(percent(all.restored_tokens, all.prompt_tokens), "of them not read again") +
         tile(duration(all.reading_ms), "reading prompts") +
         tile(duration(all.saved_ms), "of reading saved") +
         tile(duration(all.missed_ms), "read though known") + "</div>";
}

std::string verdict(const ReplayOutcome& outcome) {
  const std::size_t all = outcome.requests.size();
  std::string text;
  if (outcome.identical()) {
    text = element(
        "p", "The replay made the same decisions: all " + grouped(all) + " receipts are identical.",
        "good");
  } else {
    text = "The replay differs: " + grouped(outcome.receipts_differ) + " of " + grouped(all) +
           " receipts, " + grouped(outcome.decisions_differ) + " decisions.";
    std::string notes;
    for (const std::string& note : outcome.notes) notes += element("li", html_escaped(note));
    text = element("div", element("p", text) + element("ul", notes), "bad");
  }
  if (!outcome.trouble.empty()) {
    text += element("p",
                    "The recording is not whole: " + html_escaped(outcome.trouble) +
                        ". What lies before that is shown.",
                    "bad");
  }
  return text;
}

std::string groups(const std::vector<SummaryGroup>& all, const std::string& first) {
  std::string rows =
      "<tr>" + element("th", first) +
      "<th class=\"n\">requests</th><th class=\"n\">tokens</th><th class=\"n\">time</th>"
      "<th class=\"n\">dearest</th></tr>";
  for (const SummaryGroup& group : all) {
    const std::string example = std::to_string(group.example);
    rows += "<tr>" + element("td", html_escaped(group.what)) +
            element("td", grouped(group.requests), "n") +
            element("td", grouped(group.tokens), "n") + element("td", duration(group.ms), "n") +
            element("td", "<a href=\"#r" + example + "\">request " + example + "</a>", "n") +
            "</tr>";
  }
  return element("table", rows);
}

std::string request_row(const ReplayedRequest& request, const RecordingHeader& header) {
  const cache::Receipt& receipt = request.receipt;
  const PromptParts parts = parts_of(receipt);
  std::string note;
  if (parts.missed > 0) note = reason_text(receipt.missing.why);
  if (const std::string help = advice_of(request, header); !help.empty()) {
    note += (note.empty() ? "" : "; ") + help;
  }
  if (!request.differences.empty()) {
    const FieldDifference& first = request.differences.front();
    note = "REPLAY DIFFERS in " + first.field + ": " + first.recorded + ", now " + first.replayed +
           ". " + note;
  }
  return "<tr id=\"r" + std::to_string(request.number) + "\">" +
         element("td", std::to_string(request.number), "n") +
         element("td", html_escaped(cache::utc_text(receipt.unix_ms).substr(11, 12)), "n") +
         element("td", std::to_string(receipt.slot), "n") +
         element("td", count(receipt.prompt_tokens), "n") +
         element("td", count(receipt.restored), "n") +
         element("td", html_escaped(source_text(receipt))) +
         element("td", count(receipt.recomputed), "n") + element("td", count(parts.missed), "n") +
         element("td", duration(receipt.queued_ms), "n") +
         element("td", duration(receipt.prompt_ms), "n") +
         element("td", html_escaped(cache::request_end_name(request.end))) +
         element("td", html_escaped(note)) + "</tr>\n";
}

std::string request_table(const ReplayOutcome& outcome) {
  std::string rows =
      "<tr><th class=\"n\">request</th><th>began "
      "(UTC)</th><th class=\"n\">slot</th><th class=\"n\">prompt</th><th "
      "class=\"n\">reused</th><th>from</th>"
      "<th class=\"n\">read</th><th class=\"n\">missed</th><th class=\"n\">queued</th><th "
      "class=\"n\">prompt took</th><th>end</th><th></th></tr>\n";
  const std::size_t shown = std::min(outcome.requests.size(), kRowsMax);
  for (std::size_t i = 0; i < shown; ++i) rows += request_row(outcome.requests[i], outcome.header);
  std::string table = "<div class=\"wide\">" + element("table", rows) + "</div>";
  if (shown < outcome.requests.size()) {
    table += element("p",
                     "The first " + grouped(shown) + " of " + grouped(outcome.requests.size()) +
                         " are listed; `holdfast replay --json` has all.",
                     "quiet");
  }
  return table;
}

std::string about(const ReplayOutcome& outcome) {
  const RecordingHeader& header = outcome.header;
  std::string text = html_escaped(header.build) + ", " + std::to_string(header.slots) +
                     " slots of " + count(header.context_tokens) + " tokens, cache of " +
                     human_bytes(header.options.memory.budget) +
                     ", state: " + html_escaped(header.shape.describe());
  if (header.options.has_exact_prompts()) text += ", exact prompts";
  if (!header.companion.empty()) text += ", drafts: " + html_escaped(header.companion);
  if (header.lower) text += ", with a cache folder";
  if (header.private_form) text += ". Private: no token and no text is in the recording";
  return text + ".";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n': out += '\n'; break;
      default: out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
  }
  return out;
}

std::string report_page(const ReplayOutcome& outcome, std::string_view name) {
  name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
  const RecordingSummary all = summary_of(outcome);
  const std::size_t bars = std::min(outcome.requests.size(), kBarsMax);
  std::string page = report_head("Recording " + html_escaped(name));
  page += element("h1", "What the cache did") +
          element("p",
                  html_escaped(name) + ", begun " +
                      html_escaped(cache::utc_text(outcome.header.unix_ms)) + ". " + about(outcome),
                  "quiet");
  page += verdict(outcome) + tiles(all);
  page += element("h2", "Every prompt, in the order of their ends") +
          legend({{"live", "kept in its slot"},
                  {"memory", "brought back from memory"},
                  {"below", "from the cache folder"},
                  {"missed", "known, and read again"},
                  {"changed", "behind a change in the prompt"},
                  {"fresh", "new, read"}}) +
          element("p", "Tokens. Point at a bar for its story; click for its row.", "quiet") +
          element("div", token_chart(outcome, bars), "chart") +
          legend({{"queued", "waited"},
                  {"memory", "restored"},
                  {"missed", "read though known"},
                  {"changed", "read behind a change"},
                  {"fresh", "read, new"}}) +
          element("p", "Time until the answer began.", "quiet") +
          element("div", time_chart(outcome, bars), "chart");
  if (bars < outcome.requests.size()) {
    page += element("p", "The first " + grouped(bars) + " requests are drawn.", "quiet");
  }
  page += element("h2", "Where the misses are") +
          (all.misses.empty() ? element("p", "Nothing that was known was read again.", "good")
                              : groups(all.misses, "why known tokens were read again"));
  page +=
      element("h2", "What to change") +
      (all.advice.empty()
           ? element("p", "There is nothing that a client or a setting could do better.", "good")
           : groups(all.advice, "what would help, with the dearest example"));
  page += element("h2", "All requests") + request_table(outcome);
  page += element("p",
                  grouped(outcome.dropped) + " requests were dropped before they began, " +
                      grouped(outcome.unfinished) +
                      " had not ended. Reading times are measured "
                      "ones, shared out by tokens.",
                  "quiet");
  return page + "</main></body></html>\n";
}

}  // namespace holdfast::record
