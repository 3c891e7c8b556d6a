// The options that stand in where a request is silent: chat, reasoning, sampling.
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/option_groups.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;

using O = ServeOptions;
using S = engine::SamplingParams;

OptionKind seed() {
  return {"a whole number from 0 to 4294967295, or -1",
          [](ServeOptions& options, std::string_view text) {
            constexpr std::int64_t kRandom = std::numeric_limits<std::uint32_t>::max();
            const auto value = number_of<std::int64_t>(text);
            if (!value || *value < -1 || *value > kRandom) return false;
            options.sampling.seed.reset();
            if (*value >= 0 && *value < kRandom) {
              options.sampling.seed = static_cast<std::uint32_t>(*value);
            }
            return true;
          },
          [](const ServeOptions&) { return "-1, a random one"; }};
}

OptionKind template_kwargs() {
  return {"a JSON object such as {\"enable_thinking\":false}",
          [](ServeOptions& options, std::string_view text) {
            const auto json = nlohmann::json::parse(text, nullptr, false);
            if (!json.is_object()) return false;
            options.chat_template_kwargs.clear();
            for (const auto& [name, value] : json.items()) {
              options.chat_template_kwargs[name] = value.dump();
            }
            return true;
          },
          [](const ServeOptions&) { return ""; }};
}

}  // namespace

// clang-format off
OptionGroup chat_group() {
  return {"Chat and reasoning", {
      {"--chat-template", "TEXT", "LLAMA_ARG_CHAT_TEMPLATE",
       text_instead_of(&O::chat_template, &O::chat_template_file),
       "Chat template (Jinja) in place of the model's own."},
      {"--chat-template-file", "FILE", "LLAMA_ARG_CHAT_TEMPLATE_FILE",
       text_instead_of(&O::chat_template_file, &O::chat_template),
       "The same, from a file."},
      {"--chat-template-kwargs", "JSON", "LLAMA_ARG_CHAT_TEMPLATE_KWARGS", template_kwargs(),
       "Values for the template, as in {\"enable_thinking\":false}."},
      {"-rea, --reasoning", "on|off|auto", "LLAMA_ARG_REASONING", on_off_auto(&O::reasoning),
       "Let the model think first where a request does not say; auto: as its template does."},
      {"--reasoning-format", "FORMAT", "LLAMA_ARG_THINK",
       word(&O::reasoning_format, {"auto", "none", "deepseek", "deepseek-legacy"}),
       "Where thoughts go. deepseek: reasoning_content; none: left in the text; "
       "deepseek-legacy: both; auto: as the model needs."},
      {"--reasoning-budget", "N", "LLAMA_ARG_THINK_BUDGET",
       tokens(in_sampling(&S::reasoning_budget_tokens), -1),
       "Most tokens of thinking; 0: none, -1: no limit."},
      {"-n, --predict, --n-predict", "N", "LLAMA_ARG_N_PREDICT", tokens(&O::predict, -1),
       "Most tokens of an answer; -1: as many as the context holds."},
  }};
}

OptionGroup sampling_group() {
  return {"Sampling, where a request does not say", {
      {"-s, --seed", "N", "", seed(),
       "Seed of the random numbers."},
      {"--temp, --temperature", "X", "LLAMA_ARG_TEMPERATURE",
       real(in_sampling(&S::temperature), 0),
       "Temperature; 0 always takes the likeliest token."},
      {"--top-k", "N", "LLAMA_ARG_TOP_K", whole(in_sampling(&S::top_k), -1, 1 << 30),
       "Keep the N likeliest tokens; 0: all."},
      {"--top-p", "X", "LLAMA_ARG_TOP_P", real(in_sampling(&S::top_p), 0, 1),
       "Keep the likeliest tokens that together reach X; 1: all."},
      {"--min-p", "X", "LLAMA_ARG_MIN_P", real(in_sampling(&S::min_p), 0, 1),
       "Drop tokens below X times the likeliest; 0: none."},
      {"--typical, --typical-p", "X", "", real(in_sampling(&S::typical_p), 0, 1),
       "Locally typical sampling; 1: off."},
      {"--top-n-sigma, --top-nsigma", "X", "", real(in_sampling(&S::top_n_sigma), -1),
       "Keep tokens within X deviations of the best; -1: off."},
      {"--repeat-penalty", "X", "LLAMA_ARG_REPEAT_PENALTY",
       real(in_sampling(&S::repeat_penalty), 0),
       "Penalty on repeated tokens; 1: off."},
      {"--repeat-last-n", "N", "", tokens(in_sampling(&S::repeat_last_n), -1),
       "How far back penalties look; 0: off, -1: the whole context."},
      {"--presence-penalty", "X", "LLAMA_ARG_PRESENCE_PENALTY",
       real(in_sampling(&S::presence_penalty), -100, 100),
       "Penalty on tokens that have occurred."},
      {"--frequency-penalty", "X", "LLAMA_ARG_FREQUENCY_PENALTY",
       real(in_sampling(&S::frequency_penalty), -100, 100),
       "Penalty that grows with each occurrence."},
      {"--dry-multiplier", "X", "", real(in_sampling(&S::dry_multiplier), 0),
       "DRY penalty on repeated sequences; 0: off."},
      {"--dry-base", "X", "", real(in_sampling(&S::dry_base), 1),
       "Base of the DRY penalty."},
      {"--dry-allowed-length", "N", "", whole(in_sampling(&S::dry_allowed_length), 0, 1 << 20),
       "Length from which DRY acts."},
      {"--dry-penalty-last-n", "N", "", tokens(in_sampling(&S::dry_penalty_last_n), -1),
       "How far back DRY looks; -1: the whole context."},
      {"--xtc-probability", "X", "", real(in_sampling(&S::xtc_probability), 0, 1),
       "Chance of excluding top choices; 0: off."},
      {"--xtc-threshold", "X", "", real(in_sampling(&S::xtc_threshold), 0, 1),
       "Probability above which XTC acts."},
      {"--dynatemp-range", "X", "", real(in_sampling(&S::dynatemp_range), 0),
       "Range of the dynamic temperature; 0: off."},
      {"--dynatemp-exp", "X", "", real(in_sampling(&S::dynatemp_exponent), 0),
       "Exponent of the dynamic temperature."},
      {"--mirostat", "N", "", whole(in_sampling(&S::mirostat), 0, 2),
       "Mirostat 1 or 2; 0: off."},
      {"--mirostat-ent", "X", "", real(in_sampling(&S::mirostat_tau), 0),
       "Mirostat's target entropy."},
      {"--mirostat-lr", "X", "", real(in_sampling(&S::mirostat_eta), 0),
       "Mirostat's learning rate."},
      {"--samplers", "LIST", "", list(in_sampling(&S::samplers), ListMode::kReplace, ";"),
       "Samplers in order, with semicolons, as in top_k;top_p;temperature."},
      {"--ignore-eos / --no-ignore-eos", "", "", flag(in_sampling(&S::ignore_eos)),
       "Go on after the end of the answer."},
  }};
}
// clang-format on

}  // namespace holdfast::cli
