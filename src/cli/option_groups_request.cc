// The options that stand in where a request is silent: chat, reasoning, sampling.
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/option_groups.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;

OptionKind seed(std::optional<std::uint32_t>& field) {
  return {"a whole number from 0 to 4294967295, or -1",
          [&field](std::string_view text) {
            constexpr std::int64_t kRandom = std::numeric_limits<std::uint32_t>::max();
            const auto value = number_of<std::int64_t>(text);
            if (!value || *value < -1 || *value > kRandom) return false;
            field.reset();
            if (*value >= 0 && *value < kRandom) field = static_cast<std::uint32_t>(*value);
            return true;
          },
          "-1, a random one"};
}

OptionKind template_kwargs(std::map<std::string, std::string>& field) {
  return {"a JSON object such as {\"enable_thinking\":false}", [&field](std::string_view text) {
            const auto json = nlohmann::json::parse(text, nullptr, false);
            if (!json.is_object()) return false;
            field.clear();
            for (const auto& [name, value] : json.items()) field[name] = value.dump();
            return true;
          }};
}

OptionKind effort(std::map<std::string, std::string>& kwargs) {
  return {"a word such as low, medium or high", [&kwargs](std::string_view text) {
            kwargs["reasoning_effort"] =
                nlohmann::json(std::string(text))
                    .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
            return !text.empty();
          }};
}

OptionKind template_flag(std::map<std::string, std::string>& kwargs, const std::string& name) {
  return {"on or off", [&kwargs, name](std::string_view text) {
            const auto truth = truth_of(text);
            if (truth) kwargs[name] = *truth ? "true" : "false";
            return truth.has_value();
          }};
}

// Each takes the place of the model's own from the first on; "none" is none.
OptionKind breakers(std::vector<std::string>& field) {
  auto first = std::make_shared<bool>(true);
  return {"a text", [&field, first](std::string_view text) {
            if (std::exchange(*first, false)) field.clear();
            if (text == "none") return field.clear(), true;
            field.emplace_back(text);
            return !text.empty();
          }};
}

// "15043+1", "15043-100"
OptionKind bias(std::vector<std::pair<Token, float>>& field) {
  return {"a token's id and a bias, such as 15043+1 or 15043-1", [&field](std::string_view text) {
            const auto sign = text.find_first_of("+-");
            if (sign == std::string_view::npos) return false;
            const auto token = number_of<Token>(std::string(text.substr(0, sign)));
            const std::size_t begin = text[sign] == '+' ? sign + 1 : sign;
            const auto value = number_of<float>(std::string(text.substr(begin)));
            if (!token || *token < 0 || !value) return false;
            field.emplace_back(*token, *value);
            return true;
          }};
}

// llama.cpp's letters for its samplers.
OptionKind sampler_letters(std::vector<std::string>& field) {
  return {"letters of e d s k y p m x t", [&field](std::string_view text) {
            static const std::map<char, std::string> kNames = {
                {'e', "penalties"}, {'d', "dry"},   {'s', "top_n_sigma"},
                {'k', "top_k"},     {'y', "typ_p"}, {'p', "top_p"},
                {'m', "min_p"},     {'x', "xtc"},   {'t', "temperature"}};
            field.clear();
            for (const char letter : text) {
              const auto name = kNames.find(letter);
              if (name == kNames.end()) return false;
              field.push_back(name->second);
            }
            return !field.empty();
          }};
}

}  // namespace

// clang-format off
OptionGroup chat_group(ServeOptions& o) {
  return {"Chat and reasoning", {
      {"--chat-template", "TEXT", text_instead_of(o.chat.chat_template, o.chat.chat_template_file),
       "Chat template (Jinja) in place of the model's own.", "LLAMA_ARG_CHAT_TEMPLATE"},
      {"--chat-template-file", "FILE",
       text_instead_of(o.chat.chat_template_file, o.chat.chat_template), "The same, from a file.",
       "LLAMA_ARG_CHAT_TEMPLATE_FILE"},
      {"--chat-template-kwargs", "JSON", template_kwargs(o.chat.template_kwargs),
       "Values for the template, as in {\"enable_thinking\":false}.",
       "LLAMA_ARG_CHAT_TEMPLATE_KWARGS"},
      {"-rea, --reasoning", "on|off|auto", on_off_auto(o.chat.reasoning),
       "Let the model think first where a request does not say; auto: as its template does.",
       "LLAMA_ARG_REASONING"},
      {"--reasoning-format", "FORMAT",
       word(o.chat.reasoning_format, {"auto", "none", "deepseek", "deepseek-legacy"}),
       "Where thoughts go. deepseek: reasoning_content; none: left in the text; deepseek-legacy: "
       "both; auto: as the model needs.", "LLAMA_ARG_THINK"},
      {"--reasoning-effort", "EFFORT", effort(o.chat.template_kwargs),
       "How much a model thinks, where its template can say so: low, medium, high ...",
       "LLAMA_ARG_REASONING_EFFORT"},
      {"--reasoning-preserve / --no-reasoning-preserve", "",
       template_flag(o.chat.template_kwargs, "preserve_reasoning"),
       "Show the model the thoughts of all its answers, where its template can.",
       "LLAMA_ARG_REASONING_PRESERVE"},
      {"--reasoning-budget-message", "TEXT", any_text(o.sampling.reasoning_budget_message),
       "What is written before the end of thoughts that --reasoning-budget cuts off.",
       "LLAMA_ARG_THINK_BUDGET_MESSAGE"},
      {"--prefill-assistant / --no-prefill-assistant", "", flag(o.chat.prefill_assistant),
       "Go on with a final assistant message rather than answer it, where a request does not say.",
       "LLAMA_ARG_PREFILL_ASSISTANT"},
      {"--reasoning-budget", "N", tokens(o.sampling.reasoning_budget_tokens, -1),
       "Most tokens of thinking; 0: none, -1: no limit.", "LLAMA_ARG_THINK_BUDGET"},
      {"-n, --predict, --n-predict", "N", tokens(o.chat.predict, -1),
       "Most tokens of an answer; -1: as many as the context holds.", "LLAMA_ARG_N_PREDICT"},
      {"--keep-attribution / --no-keep-attribution", "", flag(o.chat.keep_attribution),
       "Show the model the line that Claude Code puts before its system prompt. It differs from "
       "session to session, so that with it none can share another's prompt."},
  }};
}

OptionGroup sampling_group(engine::SamplingParams& o) {
  return {"Sampling, where a request does not say", {
      {"-s, --seed", "N", seed(o.seed), "Seed of the random numbers."},
      {"--temp, --temperature", "X", real(o.temperature, 0),
       "Temperature; 0 always takes the likeliest token.", "LLAMA_ARG_TEMPERATURE"},
      {"--top-k", "N", whole(o.top_k, -1, 1 << 30), "Keep the N likeliest tokens; 0: all.",
       "LLAMA_ARG_TOP_K"},
      {"--top-p", "X", real(o.top_p, 0, 1),
       "Keep the likeliest tokens that together reach X; 1: all.", "LLAMA_ARG_TOP_P"},
      {"--min-p", "X", real(o.min_p, 0, 1), "Drop tokens below X times the likeliest; 0: none.",
       "LLAMA_ARG_MIN_P"},
      {"--typical, --typical-p", "X", real(o.typical_p, 0, 1), "Locally typical sampling; 1: off."},
      {"--top-n-sigma, --top-nsigma", "X", real(o.top_n_sigma, -1),
       "Keep tokens within X deviations of the best; -1: off."},
      {"--repeat-penalty", "X", real(o.repeat_penalty, 0), "Penalty on repeated tokens; 1: off.",
       "LLAMA_ARG_REPEAT_PENALTY"},
      {"--repeat-last-n", "N", tokens(o.repeat_last_n, -1),
       "How far back penalties look; 0: off, -1: the whole context."},
      {"--presence-penalty", "X", real(o.presence_penalty, -100, 100),
       "Penalty on tokens that have occurred.", "LLAMA_ARG_PRESENCE_PENALTY"},
      {"--frequency-penalty", "X", real(o.frequency_penalty, -100, 100),
       "Penalty that grows with each occurrence.", "LLAMA_ARG_FREQUENCY_PENALTY"},
      {"--dry-multiplier", "X", real(o.dry_multiplier, 0),
       "DRY penalty on repeated sequences; 0: off."},
      {"--dry-base", "X", real(o.dry_base, 1), "Base of the DRY penalty."},
      {"--dry-allowed-length", "N", whole(o.dry_allowed_length, 0, 1 << 20),
       "Length from which DRY acts."},
      {"--dry-penalty-last-n", "N", tokens(o.dry_penalty_last_n, -1),
       "How far back DRY looks; -1: the whole context."},
      {"--xtc-probability", "X", real(o.xtc_probability, 0, 1),
       "Chance of excluding top choices; 0: off."},
      {"--xtc-threshold", "X", real(o.xtc_threshold, 0, 1), "Probability above which XTC acts."},
      {"--dynatemp-range", "X", real(o.dynatemp_range, 0),
       "Range of the dynamic temperature; 0: off."},
      {"--dynatemp-exp", "X", real(o.dynatemp_exponent, 0), "Exponent of the dynamic temperature."},
      {"--mirostat", "N", whole(o.mirostat, 0, 2), "Mirostat 1 or 2; 0: off."},
      {"--mirostat-ent", "X", real(o.mirostat_tau, 0), "Mirostat's target entropy."},
      {"--mirostat-lr", "X", real(o.mirostat_eta, 0), "Mirostat's learning rate."},
      {"--samplers", "LIST", list(o.samplers, ListMode::kReplace, ";"),
       "Samplers in order, with semicolons, as in top_k;top_p;temperature."},
      {"--sampler-seq, --sampling-seq", "LETTERS", sampler_letters(o.samplers),
       "The same by their letters, as in edskypmxt."},
      {"--dry-sequence-breaker", "TEXT", breakers(o.dry_sequence_breakers),
       "What ends a sequence for DRY, in place of the usual ones; repeat it for several. none: "
       "nothing does."},
      {"-l, --logit-bias", "TOKEN+BIAS", bias(o.logit_bias),
       "Make a token likelier or less likely, as in 15043+1 or 15043-1; repeat it for several."},
      {"--ignore-eos / --no-ignore-eos", "", flag(o.ignore_eos),
       "Go on after the end of the answer."},
  }};
}
// clang-format on

}  // namespace holdfast::cli
