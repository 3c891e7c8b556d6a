#include "policy/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/small_options.h"
#include "cli/text_parts.h"
#include "cli/text_wrap.h"
#include "policy/cell.h"

namespace holdfast::policy {

namespace {

struct KnownOption {
  std::string name;
  std::string value;  // "" for a flag
  std::string help;
  bool (*set)(Options&, const std::string&);
};

bool take_number(const std::string& text, std::uint64_t& into) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, into);
  return error == std::errc() && stop == end;
}

// "64GiB", "64G", "512M", "1.5TiB" and "inf".
bool take_budget(const std::string& text, ByteCount& into) {
  if (text == "inf" || text == "unlimited") {
    into = kUnlimited;
    return true;
  }
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string unit(stop, end);
  static constexpr std::string_view kUnits = "KMGT";
  const std::size_t power = unit.empty() ? std::string_view::npos : kUnits.find(unit[0]);
  const bool known = power != std::string_view::npos &&
                     (unit.size() == 1 || unit.substr(1) == "iB" || unit.substr(1) == "B");
  if (error != std::errc() || !known || !(number > 0) || number > 1e6) return false;
  into = static_cast<ByteCount>(std::ldexp(number, 10 * (static_cast<int>(power) + 1)));
  return true;
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

bool set_budgets(Options& options, const std::string& text) {
  options.budgets.clear();
  for (const std::string& part : cli::split(text, ",")) {
    if (!take_budget(part, options.budgets.emplace_back())) return false;
  }
  return !options.budgets.empty();
}

bool set_models(Options& options, const std::string& text) {
  options.models.clear();
  for (const std::string& name : cli::split(text, ",")) {
    const auto shape = find_shape(name);
    if (!shape) return false;
    options.models.push_back(*shape);
  }
  return !options.models.empty();
}

bool set_machine(Options& options, const std::string& text) {
  const auto machine = find_machine(text);
  if (machine) options.machine = *machine;
  return machine.has_value();
}

bool set_outputs(Options& options, const std::string& text) {
  options.outputs.clear();
  if (text == "keep" || text == "both") options.outputs.push_back(Outputs::kKeep);
  if (text == "strip" || text == "both") options.outputs.push_back(Outputs::kStrip);
  return !options.outputs.empty();
}

bool set_trace(Options& options, const std::string& text) {
  options.traces.push_back(text);
  return !text.empty();
}

template <auto Member>
bool set_count(Options& options, const std::string& text) {
  std::uint64_t number = 0;
  if (!take_number(text, number) || number == 0) return false;
  options.trace.*Member = number;
  return true;
}

const std::vector<KnownOption>& known_options() {
  static const std::vector<KnownOption> options = {
      {"--policy", "LIST", "Policies by name, with commas between, or all (below).", set_policies},
      {"--trace", "FILE",
       "A trace, or a recording (serve --record); several files are several "
       "comparisons.",
       set_trace},
      {"--budget", "LIST", "Sizes of the cache: 64GiB,128GiB,inf. (default: inf)", set_budgets},
      {"--model", "LIST",
       "Whose states: 35b-a3b, 27b, 9b, 0.8b, nemotron-30b-a3b, pocket or attention-8b. (default: "
       "35b-a3b)",
       set_models},
      {"--machine", "gpu|cpu",
       "How fast prompts are read and states are copied (below): Holdfast keeps fewer states "
       "inside messages where copying them takes long. (default: gpu)",
       set_machine},
      {"--outputs", "keep|strip|both",
       "Whether clients send answers back as they got them, or without. (default: keep)",
       set_outputs},
      {"--sessions", "N", "The first N sessions of a trace of sessions.",
       set_count<&TraceOptions::sessions>},
      {"--requests", "N", "Stop reading a trace after N requests.",
       set_count<&TraceOptions::requests>},
      {"--seed", "N", "When sessions begin. (default: 1)", set_count<&TraceOptions::seed>},
      {"--details", "", "Every figure of every cell.",
       [](Options& o, const std::string&) { return o.details = true; }},
      {"--json", "", "The answer for programs.",
       [](Options& o, const std::string&) { return o.json = true; }},
      {"--help", "", "This text.",
       [](Options& o, const std::string&) { return o.show_help = true; }},
  };
  return options;
}

const KnownOption* find_option(std::string_view name) {
  if (name == "-h") name = "--help";
  for (const KnownOption& option : known_options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

// --policy alone means all of them.
std::vector<std::string> with_values(std::span<const std::string> args) {
  std::vector<std::string> full;
  for (std::size_t i = 0; i < args.size(); ++i) {
    full.push_back(args[i]);
    const bool bare =
        args[i] == "--policy" && (i + 1 == args.size() || args[i + 1].starts_with('-'));
    if (bare) full.emplace_back("all");
  }
  return full;
}

}  // namespace

Result<Options> parse_options(std::span<const std::string> args) {
  Options options;
  const std::vector<std::string> full = with_values(args);
  for (std::size_t at = 0; at < full.size();) {
    if (!full[at].starts_with('-')) {
      options.traces.push_back(full[at++]);
      continue;
    }
    if (auto taken = cli::take_small_option(full, at, options, known_options(), find_option,
                                            "holdfast-policy");
        !taken)
      return taken.error();
  }
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
  std::string text = cli::wrap_text(
      "holdfast-policy - what caches would have reused of the requests in a trace, and "
      "what it would have cost. No model is run: Holdfast's own cache decides as it does when it "
      "serves, beside what other servers do, under the same number of bytes.",
      width, 0);
  text +=
      "\nExamples:\n"
      "  holdfast-policy --policy all --trace agents.jsonl.zst --budget 64GiB\n"
      "  holdfast-policy --policy holdfast,vllm,bound --budget 64GiB,128GiB,inf \\\n"
      "      --model 35b-a3b,27b --outputs both --trace mooncake_conversation.jsonl.zst\n"
      "  holdfast-policy --policy --trace agents.jsonl --sessions 20 --json > cells.json\n"
      "\nPolicies:\n";
  for (const KnownPolicy& policy : known_policies()) {
    const std::string left = "  " + policy.name;
    text += left + cli::wrap_text(policy.about, width, 20).substr(left.size());
  }
  text += "\nMachines:\n";
  for (const Machine& machine : known_machines()) {
    const std::string left = "  " + machine.name;
    text += left + cli::wrap_text(machine.about, width, 20).substr(left.size());
  }
  text += "\nOptions:\n";
  for (const KnownOption& option : known_options()) {
    const std::string left = "  " + option.name + (option.value.empty() ? "" : " " + option.value);
    const std::string help = cli::wrap_text(option.help, width, 20);
    text += left.size() < 20 ? left + help.substr(left.size()) : left + "\n" + help;
  }
  return text + "\n" +
         cli::wrap_text(
             "A trace has a request a line (timestamp, input_length, output_length, "
             "hash_ids) or a session a line (bs, tool, sys, reqs); see "
             "docs/policy-replay.md. A recording is replayed with its own server's states and "
             "budget, unless others are named. eta_c is the work saved, of what a cache without "
             "limits would save; eta counts tokens instead.",
             width, 0);
}

}  // namespace holdfast::policy
