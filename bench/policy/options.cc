#include "policy/options.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "cli/command_line.h"
#include "cli/option_kinds.h"
#include "cli/text_parts.h"
#include "policy/cell.h"

namespace holdfast::policy {

namespace {

using namespace cli::option_kinds;
using cli::CommandSyntax;
using cli::OptionKind;

constexpr int kWidth = 80;
constexpr int kColumn = 20;

// "64GiB", "64G", "512M", "1.5TiB" and "inf".
std::optional<ByteCount> budget_of(const std::string& text) {
  if (text == "inf" || text == "unlimited") return kUnlimited;
  const bool has_unit = text.find_first_of("KMGT") != std::string::npos && !text.ends_with("ib");
  const ByteCount bytes = cli::bytes_of(text).value_or(0);
  if (!has_unit || bytes == 0 || bytes >> 60U != 0) return std::nullopt;
  return bytes;
}

bool set_policies(Options& options, const std::string& text) {
  options.policies.clear();
  for (const std::string& name : cli::split(text, ",")) {
    const auto known = known_policies();
    const bool all = name == "all";
    if (!all && std::ranges::find(known, name, &KnownPolicy::name) == known.end()) {
      return false;
    }
    for (const KnownPolicy& policy : known) {
      if (all || policy.name == name) options.policies.push_back(policy.name);
    }
  }
  return !options.policies.empty();
}

bool set_machine(Options& options, const std::string& text) {
  const auto machine = find_machine(text);
  if (machine) options.machine = *machine;
  return machine.has_value();
}

// An option whose whole value one of the functions above takes.
OptionKind taken_by(bool (*set)(Options&, const std::string&), Options& o, std::string expects,
                    std::string shown = "") {
  return {std::move(expects),
          [set, &o](std::string_view text) { return set(o, std::string(text)); }, std::move(shown)};
}

OptionKind count(std::uint64_t& field, std::string shown = "") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  OptionKind kind = with_default(whole(field, 1, kMost), std::move(shown));
  kind.expects = "a whole number of at least 1";
  return kind;
}

std::string named_lines(const std::string& title, const auto& items, int width) {
  std::string text = "\n" + title + ":\n";
  for (const auto& item : items) text += cli::help_entry(item.name, item.about, width, kColumn);
  return text;
}

// clang-format off
CommandSyntax policy_syntax(Options& o, int width) {
  return {
      .command = "holdfast-policy",
      .intro = "holdfast-policy - what caches would have reused of the requests in a trace, and "
               "what it would have cost. No model is run: Holdfast's own cache decides as it does "
               "when it serves, beside what other servers do, under the same number of bytes.",
      .body =
          "Examples:\n"
          "  holdfast-policy --policy all --trace agents.jsonl.zst --budget 64GiB\n"
          "  holdfast-policy --policy holdfast,vllm,bound --budget 64GiB,128GiB,inf \\\n"
          "      --model 35b-a3b,27b --outputs both --trace mooncake_conversation.jsonl.zst\n"
          "  holdfast-policy --policy --trace agents.jsonl --sessions 20 --json > cells.json\n" +
          named_lines("Policies", known_policies(), width) +
          named_lines("Machines", known_machines(), width),
      .groups = {{"Options", {
          {"--policy", "LIST",
           taken_by(set_policies, o, "names of policies with commas between, or all"),
           "Policies by name, with commas between, or all (above).", "", "all"},
          {"--trace", "FILE", list(o.traces, ListMode::kAppend, ""),
           "A trace, or a recording (serve --record); several files are several comparisons."},
          {"--budget", "LIST", items(o.budgets, ",", budget_of, "sizes such as 64GiB,1.5T,inf", "inf"),
           "Sizes of the cache: 64GiB,128GiB,inf."},
          {"--model", "LIST",
           items(o.models, ",", find_shape, "names of models, see --help", "35b-a3b"),
           "Whose states: 35b-a3b, 27b, 9b, 0.8b, nemotron-30b-a3b, pocket or attention-8b."},
          {"--machine", "gpu|cpu", taken_by(set_machine, o, "gpu or cpu", "gpu"),
           "How fast prompts are read and states are copied (above): Holdfast keeps fewer states "
           "inside messages where copying them takes long."},
          {"--outputs", "keep|strip|both",
           with_default(choice(o.outputs, {{"keep", {Outputs::kKeep}}, {"strip", {Outputs::kStrip}},
             {"both", {Outputs::kKeep, Outputs::kStrip}}}), "keep"),
           "Whether clients send answers back as they got them, or without."},
          {"--sessions", "N", count(o.trace.sessions),
           "The first N sessions of a trace of sessions."},
          {"--requests", "N", count(o.trace.requests), "Stop reading a trace after N requests."},
          {"--seed", "N", count(o.trace.seed, "1"), "When sessions begin."},
          {"--details", "", flag(o.details), "Every figure of every cell."},
          {"--json", "", flag(o.json), "The answer for programs."},
          help_option(o.show_help),
      }}},
      .closing = "A trace has a request a line (timestamp, input_length, output_length, hash_ids) "
                 "or a session a line (bs, tool, sys, reqs); see docs/policy-replay.md. A recording "
                 "is replayed with its own server's states and budget, unless others are named. "
                 "eta_c is the work saved, of what a cache without limits would save; eta counts "
                 "tokens instead.",
      .column = kColumn};
}
// clang-format on

}  // namespace

Result<Options> parse_options(std::span<const std::string> args) {
  Options options;
  const auto line = cli::parse_command_line(policy_syntax(options, kWidth), args);
  if (!line) return line.error();
  options.traces.insert(options.traces.end(), line->words.begin(), line->words.end());
  if (options.show_help) return options;
  if (options.policies.empty()) {
    return invalid_argument("--policy",
                            "say what to compare: --policy all, or some of the names "
                            "that holdfast-policy --help lists");
  }
  if (options.traces.empty()) {
    return invalid_argument("--trace", "say which trace: --trace FILE (.jsonl or .jsonl.zst)");
  }
  options.budgets_given = !options.budgets.empty();
  options.models_given = !options.models.empty();
  if (options.budgets.empty()) options.budgets = {kUnlimited};
  if (options.models.empty()) options.models = {*find_shape("35b-a3b")};
  if (options.outputs.empty()) options.outputs = {Outputs::kKeep};
  return options;
}

std::string help_text(int width) {
  Options options;
  return cli::command_help(policy_syntax(options, width), width);
}

}  // namespace holdfast::policy
