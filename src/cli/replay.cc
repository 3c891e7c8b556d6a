#include "cli/replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "cache/advice.h"
#include "cli/chat_json.h"
#include "cli/chat_view.h"
#include "cli/command_line.h"
#include "cli/option_kinds.h"
#include "env/escaped_text.h"
#include "record/recording_summary.h"
#include "record/report_page.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;
using Json = nlohmann::ordered_json;

constexpr int kExitDiffers = 1;

// --- the command line -------------------------------------------------------------

}  // namespace

// clang-format off
CommandSyntax replay_syntax(ReplayOptions& o) {
  return {
      .command = "holdfast replay",
      .intro = "holdfast replay - what the cache of a recorded server did, done again on this "
               "machine without the model: the same decisions and the same receipts, or the first "
               "difference.",
      .body =
          "Examples:\n"
          "  holdfast serve --record today.hfrec      record, until the server is stopped\n"
          "  holdfast replay today.hfrec              is it the same, and where are the misses?\n"
          "  holdfast replay today.hfrec --report today.html   a page to look at\n"
          "  holdfast replay today.hfrec --json | jq '.requests[] | select(.missed > 500)'\n",
      .groups = {{"Options", {
          {"--report", "OUT.html", text(o.report),
           "Write a page to look at: every prompt, where the misses are, what they cost, and what "
           "to change."},
          {"--json", "", flag(o.json), "All receipts and differences, for programs."},
          help_option(o.show_help),
      }}},
      .closing = "Leaves with 0 where everything is the same, with 1 where something differs or "
                 "the recording is not whole. To send a recording to others, make it with "
                 "--record-private: then it holds no token and no text."};
}
// clang-format on

namespace {

constexpr const char* kPoliciesMoved =
    "holdfast: cache policies are compared by holdfast-policy, with the same options. It is built "
    "with the tests: `ninja -C build holdfast-policy` leaves build/holdfast-policy.\n";

bool asks_for_policies(const std::string& argument) {
  return argument.starts_with("--policy") || argument.starts_with("--trace");
}

// --- for people -------------------------------------------------------------------

std::string counted(std::uint64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string seconds(double ms) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", std::isfinite(ms) ? ms / 1000 : 0.0);
  return text.data();
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  std::array<char, 48> text{};
  const double share = whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * share);
  return text.data();
}

std::string group_lines(const std::vector<record::SummaryGroup>& groups) {
  std::string text;
  for (const record::SummaryGroup& group : groups) {
    text += "  " + counted(group.tokens, "token") + ", " + seconds(group.ms) + ", in " +
            counted(group.requests, "request") + ": " + harmless(group.what) + "\n";
  }
  return text;
}

std::string verdict_lines(const record::ReplayOutcome& outcome) {
  const std::uint64_t all = outcome.requests.size();
  const std::uint64_t same = all - outcome.receipts_differ;
  std::string text = "receipts identical: " + std::to_string(same) + " of " + std::to_string(all) +
                     (outcome.identical() ? ", and so is every decision\n" : "\n");
  if (!outcome.identical()) {
    text += "decisions that differ: " + std::to_string(outcome.decisions_differ) + "\n";
    if (!outcome.notes.empty()) text += "first difference: " + harmless(outcome.notes[0]) + "\n";
  }
  if (outcome.done == record::DoneReason::kTooManyTokens) {
    text += "the recording ended itself: it had seen as many tokens as it can tell apart\n";
  }
  if (!outcome.trouble.empty()) {
    text += "the recording is not whole: " + harmless(outcome.trouble) + "\n";
    text += "what lies before that was replayed\n";
  }
  return text;
}

// --- for programs -----------------------------------------------------------------

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json receipt_json(const record::ReplayedRequest& request, const record::RecordingHeader& header) {
  const cache::Receipt& receipt = request.receipt;
  Json differences = Json::array();
  for (const record::FieldDifference& one : request.differences) {
    differences.push_back(
        {{"field", one.field}, {"recorded", one.recorded}, {"replayed", one.replayed}});
  }
  Json json = {{"request", request.number},
               {"id", receipt.id},
               {"unix_ms", receipt.unix_ms},
               {"slot", receipt.slot},
               {"prompt_tokens", receipt.prompt_tokens},
               {"matched", receipt.matched},
               {"restorable", receipt.restorable},
               {"restored", receipt.restored},
               {"source", plan::start_source_name(receipt.source)},
               {"recomputed", receipt.recomputed},
               {"missed", record::parts_of(receipt).missed},
               {"missing", cache::miss_reason_name(receipt.missing.why)},
               {"queued_ms", number_or_null(receipt.queued_ms)},
               {"restore_ms", number_or_null(receipt.restore_ms)},
               {"fetch_ms", number_or_null(receipt.fetch_ms)},
               {"prompt_ms", number_or_null(receipt.prompt_ms)},
               {"answer_tokens", request.answer_tokens},
               {"answer_ms", number_or_null(request.answer_ms)},
               {"end", cache::request_end_name(request.end)},
               {"advice", record::advice_of(request, header)},
               {"identical", request.differences.empty()},
               {"differences", differences}};
  return json;
}

Json groups_json(const std::vector<record::SummaryGroup>& groups) {
  Json all = Json::array();
  for (const record::SummaryGroup& group : groups) {
    all.push_back({{"what", group.what},
                   {"requests", group.requests},
                   {"tokens", group.tokens},
                   {"ms", number_or_null(group.ms)},
                   {"example", group.example}});
  }
  return all;
}

Result<void> write_page(const std::string& path, const std::string& page) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << page;
  out.flush();
  if (out) return {};
  return Error{ErrorCode::kIo, "The report could not be written to " + path + ".", "--report"};
}

}  // namespace

Result<ReplayOptions> parse_replay_options(std::span<const std::string> args) {
  ReplayOptions options;
  const auto line = parse_command_line(replay_syntax(options), args);
  if (!line) return line.error();
  const std::vector<std::string>& words = line->words;
  if (words == std::vector<std::string>{"help"}) options.show_help = true;
  if (options.show_help) return options;
  if (words.empty()) {
    return invalid_argument("FILE",
                            "say which recording; `holdfast serve --record FILE` makes one");
  }
  if (words.size() > 1) {
    return invalid_argument("FILE", "one recording at a time: " + words[0] + " or " + words[1]);
  }
  options.file = words.front();
  return options;
}

std::string replay_help(int width) {
  ReplayOptions options;
  return command_help(replay_syntax(options), width);
}

std::string replay_text(const record::ReplayOutcome& outcome, const std::string& name) {
  const record::RecordingSummary all = record::summary_of(outcome);
  std::string text = harmless(name) + ": " + counted(all.requests, "request") + ", recorded by " +
                     harmless(outcome.header.build) + " from " +
                     cache::utc_text(outcome.header.unix_ms).substr(0, 19) + " UTC" +
                     (outcome.header.private_form ? ", private\n" : "\n");
  text += verdict_lines(outcome);
  text += "reused: " + std::to_string(all.restored_tokens) + " of " +
          counted(all.prompt_tokens, "prompt token") + " (" +
          percent(all.restored_tokens, all.prompt_tokens) + "); reading the others took " +
          seconds(all.reading_ms) + "\n";
  if (!all.misses.empty()) text += "known, and read again:\n" + group_lines(all.misses);
  if (!all.advice.empty()) text += "what would help:\n" + group_lines(all.advice);
  return text;
}

std::string replay_json(const record::ReplayOutcome& outcome) {
  const record::RecordingSummary all = record::summary_of(outcome);
  Json requests = Json::array();
  for (const record::ReplayedRequest& request : outcome.requests) {
    requests.push_back(receipt_json(request, outcome.header));
  }
  Json json = {{"build", outcome.header.build},
               {"private", outcome.header.private_form},
               {"identical", outcome.identical()},
               {"whole", outcome.whole},
               {"trouble", outcome.trouble},
               {"receipts_differ", outcome.receipts_differ},
               {"decisions_differ", outcome.decisions_differ},
               {"memory_differs", outcome.digests_differ},
               {"notes", outcome.notes},
               {"not_compared", record::given_fields()},
               {"dropped", outcome.dropped},
               {"unfinished", outcome.unfinished},
               {"prompt_tokens", all.prompt_tokens},
               {"restored_tokens", all.restored_tokens},
               {"missed_tokens", all.missed_tokens},
               {"missed_ms", number_or_null(all.missed_ms)},
               {"misses", groups_json(all.misses)},
               {"advice", groups_json(all.advice)},
               {"requests", std::move(requests)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int replay_main(std::span<const std::string> args) {
  if (std::ranges::any_of(args, asks_for_policies)) {
    std::cerr << kPoliciesMoved;
    return kExitUsage;
  }
  const auto options = parse_replay_options(args);
  if (!options) {
    std::cerr << "holdfast replay: " << env::escaped_line(options.error().message) << "\n";
    return kExitUsage;
  }
  if (options->show_help) {
    std::cout << replay_help();
    return 0;
  }
  const auto file = read_file(options->file);
  if (!file) {
    std::cerr << env::escaped_line(file.error().message) << "\n";
    return kExitDiffers;
  }
  const auto outcome = record::replay_recording(*file);
  if (!outcome) {
    std::cerr << env::escaped_line(options->file + ": " + outcome.error().message) << "\n";
    return kExitDiffers;
  }
  std::cout << (options->json ? replay_json(*outcome) : replay_text(*outcome, options->file));
  if (!options->report.empty()) {
    if (auto written = write_page(options->report, record::report_page(*outcome, options->file));
        !written) {
      std::cerr << env::escaped_line(written.error().message) << "\n";
      return kExitDiffers;
    }
    if (!options->json) std::cout << "the page is " << env::escaped_line(options->report) << "\n";
  }
  return outcome->identical() && outcome->whole ? 0 : kExitDiffers;
}

}  // namespace holdfast::cli
