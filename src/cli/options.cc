#include "cli/options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>

namespace holdfast {
namespace {

// ---------------------------------------------------------------------------
// Texts and numbers.

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The parts between any of `separators`, trimmed; empty parts are left out.
std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(separators), text.size());
    const std::string_view part = trim(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

template <typename T>
std::optional<T> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

// "32k" is 32 x 1024.
std::optional<std::int64_t> count_of(std::string_view text) {
  std::int64_t unit = 1;
  if (text.ends_with('k') || text.ends_with('K')) unit = 1024;
  if (text.ends_with('m') || text.ends_with('M')) unit = 1024 * 1024;
  if (unit > 1) text.remove_suffix(1);
  const auto count = number_of<std::int64_t>(text);
  constexpr std::int64_t kSafe = std::numeric_limits<std::int64_t>::max() >> 20;
  if (!count || *count > kSafe || *count < -kSafe) return std::nullopt;
  return *count * unit;
}

std::string show_number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

std::optional<bool> truth_of(std::string_view text) {
  for (const char* yes : {"on", "true", "1", "yes", "enabled"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"off", "false", "0", "no", "disabled"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

// ---------------------------------------------------------------------------
// Kinds of value: how a text is validated and stored, and how a default is shown.

struct Kind {
  std::string expects;  // completes "--parallel needs ..."
  std::function<bool(ServeOptions&, std::string_view)> set;
  std::function<std::string(const ServeOptions&)> show;
};

// A field is whatever std::invoke turns a ServeOptions into a reference with.
template <typename Member>
auto in_sampling(Member member) {
  return [member](auto& options) -> auto& { return options.sampling.*member; };
}

template <typename Field>
using ValueOf = std::remove_cvref_t<std::invoke_result_t<Field, ServeOptions&>>;

template <typename Field, typename Parse>
Kind integer(Field field, std::int64_t min, std::int64_t max, Parse parse, std::string expects) {
  return {std::move(expects),
          [=](ServeOptions& options, std::string_view text) {
            const auto value = parse(text);
            if (!value || *value < min || *value > max) return false;
            std::invoke(field, options) = static_cast<ValueOf<Field>>(*value);
            return true;
          },
          [=](const ServeOptions& o) { return std::to_string(std::invoke(field, o)); }};
}

std::string range_text(std::int64_t min, std::int64_t max) {
  return "from " + std::to_string(min) + " to " + std::to_string(max);
}

template <typename Field>
Kind whole(Field field, std::int64_t min, std::int64_t max) {
  return integer(field, min, max, number_of<std::int64_t>,
                 "a whole number " + range_text(min, max));
}

// A number of tokens.
template <typename Field>
Kind tokens(Field field, std::int64_t min, std::int64_t max = std::int64_t{1} << 30) {
  return integer(field, min, max, count_of,
                 "a number of tokens " + range_text(min, max) + " (8192, or 8k)");
}

template <typename Field>
Kind real(Field field, double min, double max = std::numeric_limits<float>::max()) {
  const bool open = max == std::numeric_limits<float>::max();
  const std::string range = open ? " of at least " + show_number(min)
                                 : " from " + show_number(min) + " to " + show_number(max);
  return {"a number" + range,
          [=](ServeOptions& options, std::string_view text) {
            const auto value = number_of<double>(text);
            if (!value || *value < min || *value > max) return false;
            std::invoke(field, options) = static_cast<float>(*value);
            return true;
          },
          [=](const ServeOptions& o) { return show_number(std::invoke(field, o)); }};
}

// Negative means that the model decides.
template <typename Field>
Kind real_or_model(Field field) {
  Kind kind = real(field, -1.0);
  kind.show = [](const ServeOptions&) { return "from the model"; };
  return kind;
}

template <typename Field>
Kind text(Field field) {
  return {"a text that is not empty",
          [=](ServeOptions& options, std::string_view value) {
            std::invoke(field, options) = std::string(value);
            return !value.empty();
          },
          [=](const ServeOptions& o) { return std::invoke(field, o); }};
}

// Two options for one thing: the later one counts.
template <typename Field, typename Other>
Kind text_instead_of(Field field, Other other) {
  Kind kind = text(field);
  kind.set = [set = kind.set, other](ServeOptions& options, std::string_view value) {
    std::invoke(other, options).clear();
    return set(options, value);
  };
  return kind;
}

template <typename Field>
Kind flag(Field field) {
  return {"on or off",
          [=](ServeOptions& options, std::string_view value) {
            const auto truth = truth_of(value);
            if (truth) std::invoke(field, options) = *truth;
            return truth.has_value();
          },
          [=](const ServeOptions& o) { return std::invoke(field, o) ? "on" : ""; }};
}

template <typename Value>
using Names = std::vector<std::pair<std::string, Value>>;

template <typename Field>
Kind choice(Field field, Names<ValueOf<Field>> names) {
  std::vector<std::string> words;
  for (const auto& [name, value] : names) words.push_back(name);
  return {"one of " + join(words, ", "),
          [=](ServeOptions& options, std::string_view text) {
            for (const auto& [name, value] : names) {
              if (name == text) return std::invoke(field, options) = value, true;
            }
            return false;
          },
          [=](const ServeOptions& options) -> std::string {
            for (const auto& [name, value] : names) {
              if (value == std::invoke(field, options)) return name;
            }
            return "";
          }};
}

template <typename Field>
Kind word(Field field, std::initializer_list<std::string> words) {
  Names<std::string> names;
  for (const std::string& name : words) names.emplace_back(name, name);
  return choice(field, std::move(names));
}

template <typename Field>
Kind on_off_auto(Field field) {
  return choice(field, {{"on", OnOffAuto::kOn},
                        {"off", OnOffAuto::kOff},
                        {"auto", OnOffAuto::kAuto},
                        {"1", OnOffAuto::kOn},
                        {"0", OnOffAuto::kOff}});
}

enum class ListMode { kAppend, kReplace };

template <typename Field>
Kind list(Field field, ListMode mode, std::string_view separators = ",") {
  return {"at least one item that is not empty",
          [=](ServeOptions& options, std::string_view text) {
            auto& items = std::invoke(field, options);
            if (mode == ListMode::kReplace) items.clear();
            const auto parts = split(text, separators);
            items.insert(items.end(), parts.begin(), parts.end());
            return !parts.empty();
          },
          [=](const ServeOptions& o) { return join(std::invoke(field, o), ","); }};
}

Kind seed() {
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

Kind gpu_layers() {
  return {"a number of layers, auto or all",
          [](ServeOptions& options, std::string_view text) {
            const auto count = number_of<int>(text);
            const bool known = text == "auto" || text == "all" || (count && *count >= -1);
            if (!known) return false;
            options.gpu_layers = text == "all" ? kGpuLayersAll : count.value_or(kGpuLayersAuto);
            return true;
          },
          [](const ServeOptions&) { return "auto"; }};
}

Kind grid_step() {
  Kind kind = tokens(&ServeOptions::grid_step, 64, 65536);
  kind.expects = "a multiple of 64 from 64 to 65536";
  kind.set = [set = kind.set](ServeOptions& options, std::string_view text) {
    return set(options, text) && options.grid_step % 64 == 0;
  };
  kind.show = [](const ServeOptions&) { return "512, or --ubatch-size if that is less"; };
  return kind;
}

Kind tensor_split() {
  return {"shares such as 3,1",
          [](ServeOptions& options, std::string_view text) {
            options.tensor_split.clear();
            for (const std::string& part : split(text, ",/")) {
              const auto share = number_of<float>(part);
              if (!share || *share < 0) return false;
              options.tensor_split.push_back(*share);
            }
            return !options.tensor_split.empty();
          },
          [](const ServeOptions&) { return ""; }};
}

// `--rope-scale 4` is `--rope-freq-scale 0.25`.
Kind rope_scale() {
  return {"a number above 0",
          [](ServeOptions& options, std::string_view text) {
            const auto scale = number_of<double>(text);
            if (!scale || *scale <= 0) return false;
            options.rope_freq_scale = static_cast<float>(1.0 / *scale);
            return true;
          },
          [](const ServeOptions&) { return "from the model"; }};
}

Kind template_kwargs() {
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

Kind verbose() {
  return {"on or off",
          [](ServeOptions& options, std::string_view value) {
            const auto truth = truth_of(value);
            if (truth.value_or(false)) options.log_level = LogLevel::kDebug;
            return truth.has_value();
          },
          [](const ServeOptions&) { return ""; }};
}

// ---------------------------------------------------------------------------
// The table.

enum class Support {
  kFull,
  kCommandLineOnly,  // --help, --version
  kNoEffect,         // accepted, so that a llama-server command line works here
  kNone,             // refused with its reason, because ignoring it would mislead
};

struct Option {
  // "-m, --model": all names; those after " / " turn a flag off.
  std::string names;
  std::string value;      // its name in --help; empty: a flag
  std::string llama_env;  // llama-server's environment variable
  Kind kind;
  std::string help;          // what it does; for kNoEffect and kNone the reason
  std::string implied = {};  // the value when none is given; empty: one is needed
  Support support = Support::kFull;
};

struct Group {
  std::string title;
  std::vector<Option> options;
};

Kind nothing() {
  return {"", [](ServeOptions&, std::string_view) { return true; },
          [](const ServeOptions&) { return ""; }};
}

Option no_effect(std::string names, std::string value, std::string reason) {
  return {std::move(names),  std::move(value), "", nothing(), std::move(reason), "",
          Support::kNoEffect};
}

Option unsupported(std::string names, std::string value, std::string reason) {
  return {std::move(names), std::move(value), "", nothing(), std::move(reason), "", Support::kNone};
}

using O = ServeOptions;
using S = SamplingParams;

// clang-format off
Group model_group() {
  return {"Model", {
      {"-m, --model", "PATH", "LLAMA_ARG_MODEL", text(&O::model_path),
       "The model, a GGUF file. Without it Holdfast serves its small pocket model, so that "
       "everything can be tried at once."},
      {"-a, --alias", "NAME", "LLAMA_ARG_ALIAS", list(&O::aliases, ListMode::kAppend),
       "The model's name in the API; several with commas. Default: from the model."},
      {"--mmap / --no-mmap", "", "LLAMA_ARG_MMAP", flag(&O::mmap),
       "Map the file into memory rather than read it."},
      {"--mlock / --no-mlock", "", "LLAMA_ARG_MLOCK", flag(&O::mlock),
       "Keep the model in RAM; the system may not swap it out."},
      {"--warmup / --no-warmup", "", "LLAMA_ARG_WARMUP", flag(&O::warmup),
       "Run the model once at the start, so that the first request is not slower."},
  }};
}

Group context_group() {
  const std::initializer_list<std::string> types = {
      "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"};
  return {"Context and slots", {
      {"-c, --ctx-size", "N", "LLAMA_ARG_CTX_SIZE", tokens(&O::ctx_size, 0),
       "Context tokens of all slots together: -c 32k -np 4 lets each of four requests hold 8k "
       "tokens. 0: from the model."},
      {"-np, --parallel", "N", "LLAMA_ARG_N_PARALLEL", whole(&O::parallel, 1, 256),
       "Slots: how many requests run at the same time. More of them wait in the queue."},
      {"-b, --batch-size", "N", "LLAMA_ARG_BATCH", tokens(&O::batch_size, 64, 65536),
       "Most tokens in one call of the engine."},
      {"-ub, --ubatch-size", "N", "LLAMA_ARG_UBATCH", tokens(&O::ubatch_size, 64, 65536),
       "Most tokens computed in one step. More is faster on a GPU and takes more memory."},
      {"-ctk, --cache-type-k", "TYPE", "LLAMA_ARG_CACHE_TYPE_K", word(&O::cache_type_k, types),
       "How keys are stored: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0 or q5_1."},
      {"-ctv, --cache-type-v", "TYPE", "LLAMA_ARG_CACHE_TYPE_V", word(&O::cache_type_v, types),
       "How values are stored; the same types."},
      {"--swa-full / --no-swa-full", "", "LLAMA_ARG_SWA_FULL", flag(&O::swa_full),
       "Keep all tokens of sliding-window layers, not only the window."},
      {"--deterministic / --no-deterministic", "", "", flag(&O::deterministic),
       "The same request gives the same answer whatever else is running. Slower with several "
       "users."},
      {"--grid-step", "N", "", grid_step(),
       "A long prompt is cut every N tokens, a multiple of 64. A state can be kept at each cut."},
  }};
}

Group compute_group() {
  return {"Processor and GPU", {
      {"-t, --threads", "N", "LLAMA_ARG_THREADS", whole(&O::threads, -1, 1024),
       "Threads that generate; -1 lets the engine choose."},
      {"-tb, --threads-batch", "N", "LLAMA_ARG_THREADS_BATCH", whole(&O::threads_batch, -1, 1024),
       "Threads that read prompts; -1: as many as --threads."},
      {"-ngl, --gpu-layers, --n-gpu-layers", "N|auto|all", "LLAMA_ARG_N_GPU_LAYERS", gpu_layers(),
       "Layers kept on the GPU."},
      {"-fa, --flash-attn", "on|off|auto", "LLAMA_ARG_FLASH_ATTN", on_off_auto(&O::flash_attn),
       "Flash attention: less memory for long contexts.", "on"},
      {"-dev, --device", "LIST", "LLAMA_ARG_DEVICE", text(&O::device),
       "Devices to use, with commas."},
      {"-sm, --split-mode", "MODE", "LLAMA_ARG_SPLIT_MODE",
       word(&O::split_mode, {"none", "layer", "row", "tensor"}),
       "How several GPUs share a model: none, layer, row or tensor."},
      {"-mg, --main-gpu", "N", "LLAMA_ARG_MAIN_GPU", whole(&O::main_gpu, 0, 255),
       "The GPU that is used when a model is not split."},
      {"-ts, --tensor-split", "LIST", "LLAMA_ARG_TENSOR_SPLIT", tensor_split(),
       "Each GPU's share of the model, as in 3,1."},
  }};
}

Group server_group() {
  return {"Server", {
      {"--host", "ADDRESS", "LLAMA_ARG_HOST", text(&O::host),
       "Address to listen on. 0.0.0.0 lets other machines in: set --api-key then."},
      {"--port", "N", "LLAMA_ARG_PORT", whole(&O::port, 0, 65535),
       "Port to listen on; 0: any free one."},
      {"--api-key", "KEY", "LLAMA_API_KEY", list(&O::api_keys, ListMode::kAppend),
       "Key that a client must send; repeat it, or use commas, for several."},
      {"--api-key-file", "FILE", "LLAMA_ARG_API_KEY_FILE", text(&O::api_key_file),
       "Keys, one on each line; # begins a comment."},
      {"--ssl-cert-file", "FILE", "LLAMA_ARG_SSL_CERT_FILE", text(&O::ssl_cert_file),
       "Serve HTTPS with this certificate chain (PEM)."},
      {"--ssl-key-file", "FILE", "LLAMA_ARG_SSL_KEY_FILE", text(&O::ssl_key_file),
       "The certificate's private key (PEM)."},
      {"--cors-origins", "LIST", "LLAMA_ARG_CORS_ORIGINS",
       list(&O::cors_origins, ListMode::kReplace),
       "Web origins that browsers may call from, with commas."},
      {"-to, --timeout", "SECONDS", "LLAMA_ARG_TIMEOUT", whole(&O::timeout_s, 0, 7 * 86400),
       "Longest time for one request, waiting included; 0: no limit."},
      {"--queue-max", "N", "", whole(&O::queue_max, 0, 1'000'000),
       "Requests that may wait for a slot; more are answered 503."},
      {"--body-limit-mb", "N", "", whole(&O::body_limit_mb, 1, 4096),
       "Largest request body in MiB."},
      {"--connections-max", "N", "", whole(&O::connections_max, 1, 1'000'000),
       "Most connections at a time."},
      {"--config", "FILE", "", text(&O::config_path),
       "Read options from a file of `name = value` lines."},
  }};
}

Group chat_group() {
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

Group sampling_group() {
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

Group rope_group() {
  return {"Position encoding, for contexts beyond the model's own", {
      {"--rope-scaling", "METHOD", "LLAMA_ARG_ROPE_SCALING_TYPE",
       word(&O::rope_scaling, {"none", "linear", "yarn"}),
       "none, linear or yarn. Default: from the model."},
      {"--rope-scale", "X", "LLAMA_ARG_ROPE_SCALE", rope_scale(),
       "Stretch the context by X."},
      {"--rope-freq-base", "X", "LLAMA_ARG_ROPE_FREQ_BASE", real_or_model(&O::rope_freq_base),
       "RoPE base frequency."},
      {"--rope-freq-scale", "X", "LLAMA_ARG_ROPE_FREQ_SCALE", real_or_model(&O::rope_freq_scale),
       "RoPE frequency factor, 1/--rope-scale."},
      {"--yarn-orig-ctx", "N", "LLAMA_ARG_YARN_ORIG_CTX", tokens(&O::yarn_orig_ctx, 0),
       "Context the model was trained with; 0: from the model."},
      {"--yarn-ext-factor", "X", "LLAMA_ARG_YARN_EXT_FACTOR", real_or_model(&O::yarn_ext_factor),
       "YaRN extrapolation mix."},
      {"--yarn-attn-factor", "X", "LLAMA_ARG_YARN_ATTN_FACTOR",
       real_or_model(&O::yarn_attn_factor),
       "YaRN attention scale."},
      {"--yarn-beta-fast", "X", "LLAMA_ARG_YARN_BETA_FAST", real_or_model(&O::yarn_beta_fast),
       "YaRN low correction."},
      {"--yarn-beta-slow", "X", "LLAMA_ARG_YARN_BETA_SLOW", real_or_model(&O::yarn_beta_slow),
       "YaRN high correction."},
  }};
}

Group log_group() {
  return {"Log and help", {
      {"--log-level", "LEVEL", "",
       choice(&O::log_level, {{"debug", LogLevel::kDebug}, {"info", LogLevel::kInfo},
         {"warn", LogLevel::kWarn}, {"error", LogLevel::kError}}),
       "debug, info, warn or error."},
      {"-v, --verbose", "", "", verbose(),
       "The same as --log-level debug."},
      {"--log-format", "FORMAT", "",
       choice(&O::log_format, {{"text", LogFormat::kText}, {"json", LogFormat::kJson}}),
       "text for people, json for programs."},
      {"--log-file", "FILE", "LLAMA_ARG_LOG_FILE", text(&O::log_file),
       "Write the log to this file too."},
      {"-h, --help", "", "", flag(&O::show_help),
       "This text.", "", Support::kCommandLineOnly},
      {"--version", "", "", flag(&O::show_version),
       "The version.", "", Support::kCommandLineOnly},
  }};
}

Group no_effect_group() {
  const std::string always = "what it turns on is always on here";
  const std::string reuse = "Holdfast decides by itself what to keep and reuse";
  const std::string own_log = "the log has its own options, see --log-level and --log-format";
  return {"", {
      no_effect("--jinja / --no-jinja", "", "chat templates always run through Jinja"),
      no_effect("-cb, --cont-batching / -nocb, --no-cont-batching", "", always),
      no_effect("--metrics", "", always),
      no_effect("--slots / --no-slots", "", always),
      no_effect("--props", "", always),
      no_effect("--cache-prompt / --no-cache-prompt", "", reuse),
      no_effect("--cache-reuse", "N", reuse),
      no_effect("-cram, --cache-ram", "N", reuse),
      no_effect("--cache-idle-slots / --no-cache-idle-slots", "", reuse),
      no_effect("-ctxcp, --ctx-checkpoints, --swa-checkpoints", "N", reuse),
      no_effect("-cms, --checkpoint-min-step", "N", reuse),
      no_effect("-sps, --slot-prompt-similarity", "X", reuse),
      no_effect("--slot-save-path", "PATH", reuse),
      no_effect("-kvu, --kv-unified / -no-kvu, --no-kv-unified", "",
                 "each slot has its own part of the context"),
      no_effect("--context-shift / --no-context-shift", "",
                 "a full context ends the answer and is never shifted"),
      no_effect("--keep", "N", "a full context ends the answer and is never shifted"),
      no_effect("-dt, --defrag-thold", "X", "there is nothing to defragment"),
      no_effect("--ui, --webui / --no-ui, --no-webui", "",
                 "there is no such page to turn on or off"),
      no_effect("--threads-http", "N", "one thread serves all connections"),
      no_effect("--perf / --no-perf", "", "timings are always reported"),
      no_effect("-fit, --fit", "on|off", "sizes are taken as given"),
      no_effect("--prio", "N", "threads run at normal priority"),
      no_effect("--poll", "N", "threads wait without polling"),
      no_effect("-lv, --verbosity, --log-verbosity", "N", own_log),
      no_effect("--log-colors", "on|off|auto", own_log),
      no_effect("--log-prefix / --no-log-prefix", "", own_log),
      no_effect("--log-timestamps / --no-log-timestamps", "", own_log),
      no_effect("--log-disable", "", own_log),
  }};
}

Group unsupported_group() {
  const std::string fetch =
      "Holdfast does not download models; fetch the GGUF file and pass it with --model";
  const std::string yet = "Holdfast cannot do this yet";
  return {"", {
      unsupported("-hf, -hfr, --hf-repo", "REPO", fetch),
      unsupported("-mu, --model-url", "URL", fetch),
      unsupported("-mm, --mmproj", "FILE", yet),
      unsupported("--lora", "FILE", yet),
      unsupported("--lora-scaled", "FILE", yet),
      unsupported("--control-vector", "FILE", yet),
      unsupported("-md, --model-draft, --spec-draft-model", "FILE", yet),
      unsupported("--spec-type", "TYPE", yet),
      unsupported("--override-kv", "KEY=TYPE:VALUE", yet),
      unsupported("-ot, --override-tensor", "PATTERN", yet),
      unsupported("-cmoe, --cpu-moe", "", yet),
      unsupported("-ncmoe, --n-cpu-moe", "N", yet),
      unsupported("--embedding, --embeddings", "", yet),
      unsupported("--rerank, --reranking", "", yet),
  }};
}
// clang-format on

const std::vector<Group>& table() {
  static const std::vector<Group> groups = {
      model_group(),    context_group(), compute_group(), server_group(),    chat_group(),
      sampling_group(), rope_group(),    log_group(),     no_effect_group(), unsupported_group()};
  return groups;
}

// ---------------------------------------------------------------------------
// Names.

struct SplitNames {
  std::vector<std::string> on;
  std::vector<std::string> off;
};

SplitNames names_of(const Option& option) {
  const auto slash = option.names.find(" / ");
  if (slash == std::string::npos) return {split(option.names, ","), {}};
  return {split(option.names.substr(0, slash), ","), split(option.names.substr(slash + 3), ",")};
}

struct Named {
  const Option* option = nullptr;
  bool off = false;  // this name turns a flag off
};

const std::map<std::string, Named, std::less<>>& by_name() {
  static const auto names = [] {
    std::map<std::string, Named, std::less<>> map;
    for (const Group& group : table()) {
      for (const Option& option : group.options) {
        const SplitNames split = names_of(option);
        for (const std::string& name : split.on)
          CHECK(map.try_emplace(name, &option, false).second);
        for (const std::string& name : split.off)
          CHECK(map.try_emplace(name, &option, true).second);
      }
    }
    return map;
  }();
  return names;
}

// Underscores are read as dashes, as llama-server reads them.
std::optional<Named> find_option(std::string name) {
  if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
  const auto found = by_name().find(name);
  if (found == by_name().end()) return std::nullopt;
  return found->second;
}

bool is_flag(const Option& option) { return option.value.empty(); }

// "--ctx-size" -> "HOLDFAST_CTX_SIZE".
std::string env_name(std::string_view long_name) {
  std::string name = "HOLDFAST_";
  for (const char c : long_name.substr(2)) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

// "HOLDFAST_CTX_SIZE" -> "--ctx-size".
std::string option_name(std::string_view variable) {
  std::string name = "--";
  for (const char c : variable.substr(std::string_view("HOLDFAST_").size())) {
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string did_you_mean(const std::string& nearest, std::string_view otherwise) {
  return nearest.empty() ? std::string(otherwise) : "; did you mean " + nearest + "?";
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& [name, named] : by_name()) names.push_back(name);
  return names;
}

// ---------------------------------------------------------------------------
// From each source to assignments.

enum class Source { kConfig, kLlamaEnvironment, kEnvironment, kCommandLine };

// One option given somewhere.
struct Assignment {
  const Option* option = nullptr;
  std::string value;
  std::string subject;  // how a message names it: "option --port", "a.conf:3: port"
  std::string name;
  Source source = Source::kCommandLine;
};
using Assignments = std::vector<Assignment>;

// A flag's value by the name used: `no-mmap = true` means `mmap = false`.
std::string flag_value(const Named& named, const std::string& value) {
  if (!named.off) return value;
  const auto truth = truth_of(value);
  if (!truth) return value;
  return *truth ? "off" : "on";
}

Error unknown_option(const std::string& name) {
  if (!name.starts_with('-')) {
    const std::string hint =
        name.ends_with(".gguf") ? "; did you mean --model " + name + "?" : "; options begin with -";
    return invalid_argument(name, "unexpected argument " + name + hint);
  }
  const std::string nearest = nearest_name(name, all_names());
  return invalid_argument(
      name, "unknown option " + name + did_you_mean(nearest, "; see holdfast serve --help"));
}

bool names_an_option(std::string argument) {
  return argument.starts_with('-') &&
         find_option(argument.substr(0, argument.find('='))).has_value();
}

// Reads one option at args[at], and moves `at` past it.
Result<Assignment> take_argument(std::span<const std::string> args, std::size_t& at) {
  const std::string& argument = args[at++];
  const auto equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
  const std::string name = argument.substr(0, equals);
  const auto named = find_option(name);
  if (!named) return unknown_option(name);
  Assignment taken{named->option, "", "option " + name, name, Source::kCommandLine};
  if (equals != std::string::npos) {
    taken.value = flag_value(*named, argument.substr(equals + 1));
  } else if (is_flag(*named->option)) {
    taken.value = flag_value(*named, "on");
  } else if (at < args.size() && !names_an_option(args[at])) {
    taken.value = args[at++];
  } else if (!named->option->implied.empty()) {
    taken.value = named->option->implied;
  } else {
    return invalid_argument(
        name, "option " + name + " needs a value: " + name + " " + named->option->value);
  }
  return taken;
}

Result<Assignments> from_arguments(std::span<const std::string> args) {
  Assignments all;
  for (std::size_t at = 0; at < args.size();) {
    auto taken = take_argument(args, at);
    if (!taken) return taken.error();
    all.push_back(std::move(taken).value());
  }
  return all;
}

// Kubernetes sets HOLDFAST_PORT=tcp://10.0.0.1:80 in every container beside a
// service called holdfast.
bool is_kubernetes_link(const std::string& value) { return value.starts_with("tcp://"); }

void take_variable(const Environment& env, const std::string& variable, Named named, Source source,
                   Assignments& all) {
  const auto found = env.find(variable);
  if (found == env.end() || found->second.empty() || is_kubernetes_link(found->second)) return;
  all.push_back({named.option, flag_value(named, found->second), variable, variable, source});
}

void take_llama_variables(const Environment& env, const Option& option, Assignments& all) {
  if (option.llama_env.empty()) return;
  take_variable(env, option.llama_env, {&option, false}, Source::kLlamaEnvironment, all);
  if (names_of(option).off.empty()) return;
  // llama-server: the mere presence of LLAMA_ARG_NO_MMAP turns mmap off.
  std::string variable = option.llama_env;
  variable.replace(0, std::string_view("LLAMA_ARG_").size(), "LLAMA_ARG_NO_");
  if (!env.contains(variable)) return;
  all.push_back({&option, "off", variable, variable, Source::kLlamaEnvironment});
}

Assignments from_environment(const Environment& env) {
  Assignments all;
  for (const auto& [name, named] : by_name()) {
    if (!name.starts_with("--") || named.option->support == Support::kCommandLineOnly) continue;
    take_variable(env, env_name(name), named, Source::kEnvironment, all);
  }
  for (const Group& group : table()) {
    for (const Option& option : group.options) take_llama_variables(env, option, all);
  }
  return all;
}

std::vector<std::string> long_names() {
  std::vector<std::string> names;
  for (const std::string& name : all_names()) {
    if (name.starts_with("--")) names.push_back(name);
  }
  return names;
}

// A variable that is nearly one of ours is a mistake that nobody would notice.
void note_misspelled(const Environment& env, std::vector<std::string>& notes) {
  for (const auto& [variable, value] : env) {
    if (!variable.starts_with("HOLDFAST_") || is_kubernetes_link(value)) continue;
    const std::string nearest = nearest_name(option_name(variable), long_names());
    if (nearest.empty() || env_name(nearest) == variable) continue;
    notes.push_back("the environment variable " + variable + " is not an option; did you mean " +
                    env_name(nearest) + "?");
  }
}

// The value of a config line: in double quotes verbatim, else up to a comment.
std::string config_value(std::string_view text) {
  text = trim(text);
  if (text.starts_with('"')) {
    const auto end = text.find('"', 1);
    const bool alone = end != std::string_view::npos && [&] {
      const auto rest = trim(text.substr(end + 1));
      return rest.empty() || rest.starts_with('#');
    }();
    if (alone) return std::string(text.substr(1, end - 1));
  }
  const auto comment = std::min(text.find(" #"), text.find("\t#"));
  return std::string(trim(text.substr(0, comment)));
}

Result<Assignment> take_config_line(std::string_view line, const std::string& place) {
  const auto equals = line.find('=');
  std::string key(trim(line.substr(0, equals)));
  const auto named = find_option("--" + key);
  if (!named || named->option->support == Support::kCommandLineOnly || key == "config") {
    std::string nearest = nearest_name("--" + key, long_names());
    if (!nearest.empty()) nearest.erase(0, 2);
    return invalid_argument(
        key, place + ": unknown key " + key +
                 did_you_mean(nearest, "; keys are long option names without dashes"));
  }
  if (equals == std::string_view::npos && !is_flag(*named->option)) {
    return invalid_argument(
        key, place + ": " + key + " needs a value: " + key + " = " + named->option->value);
  }
  const std::string value =
      equals == std::string_view::npos ? "on" : config_value(line.substr(equals + 1));
  return Assignment{named->option, flag_value(*named, value), place + ": " + key, key,
                    Source::kConfig};
}

Result<Assignments> from_config(const std::string& path, const FileReader& files) {
  auto text = files(path);
  if (!text) return text.error();
  Assignments all;
  std::istringstream lines(text.value());
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string place = path + ":" + std::to_string(++number);
    const std::string_view content = trim(line);
    if (content.empty() || content.starts_with('#') || content == "[serve]") continue;
    if (content.starts_with('[')) {
      return invalid_argument("config", place + ": unknown section " + std::string(content) +
                                            "; the only one is [serve]");
    }
    auto taken = take_config_line(content, place);
    if (!taken) return taken.error();
    all.push_back(std::move(taken).value());
  }
  return all;
}

// ---------------------------------------------------------------------------
// From assignments to options.

Result<void> apply(const Assignment& given, Parsed& parsed) {
  const Option& option = *given.option;
  if (option.support == Support::kNone) {
    return invalid_argument(given.name, given.subject + " is not supported: " + option.help);
  }
  if (option.support == Support::kNoEffect) {
    parsed.notes.push_back(given.name + " has no effect: " + option.help);
    return {};
  }
  if (!option.kind.set(parsed.options, given.value)) {
    return invalid_argument(given.name, given.subject + " needs " + option.kind.expects +
                                            ", not \"" + given.value + "\"");
  }
  return {};
}

// What no higher source overrides, lowest source first.
Assignments strongest(Assignments all) {
  std::map<const Option*, Source> highest;
  for (const Assignment& given : all) {
    Source& source = highest.try_emplace(given.option, given.source).first->second;
    source = std::max(source, given.source);
  }
  std::erase_if(all, [&](const Assignment& a) { return a.source != highest.at(a.option); });
  std::stable_sort(all.begin(), all.end(),
                   [](const Assignment& a, const Assignment& b) { return a.source < b.source; });
  return all;
}

std::string config_path_of(const Assignments& given) {
  std::string path;
  for (const Assignment& assignment : strongest(given)) {
    if (assignment.option == by_name().at("--config").option) path = assignment.value;
  }
  return path;
}

Result<void> read_api_keys(ServeOptions& options, const FileReader& files) {
  if (options.api_key_file.empty()) return {};
  auto text = files(options.api_key_file);
  if (!text) return text.error();
  const std::size_t before = options.api_keys.size();
  for (const std::string& line : split(text.value(), "\n")) {
    if (!line.starts_with('#')) options.api_keys.push_back(line);
  }
  // Without this a server meant to be closed would stand open.
  if (options.api_keys.size() > before) return {};
  return invalid_argument("--api-key-file", options.api_key_file + " holds no key");
}

Result<void> read_template(ServeOptions& options, const FileReader& files) {
  if (options.chat_template_file.empty()) return {};
  auto text = files(options.chat_template_file);
  if (!text) return text.error();
  options.chat_template = std::move(text).value();
  return {};
}

// Options that depend on each other.
Result<void> reconcile(ServeOptions& options) {
  options.ubatch_size = std::min(options.ubatch_size, options.batch_size);
  const TokenPos chunk_max = options.ubatch_size / 64 * 64;
  if (options.grid_step == 0) options.grid_step = std::min(TokenPos{512}, chunk_max);
  if (options.grid_step > options.ubatch_size) {
    return invalid_argument("--grid-step", "--grid-step " + std::to_string(options.grid_step) +
                                               " is more than --ubatch-size " +
                                               std::to_string(options.ubatch_size) +
                                               ", the largest step of the engine");
  }
  if (options.ssl_cert_file.empty() != options.ssl_key_file.empty()) {
    return invalid_argument("--ssl-cert-file",
                            "--ssl-cert-file and --ssl-key-file are needed together");
  }
  return {};
}

void note_open_server(const ServeOptions& options, std::vector<std::string>& notes) {
  const std::string& host = options.host;
  const bool local = host.starts_with("127.") || host == "::1" || host == "localhost";
  if (local || !options.api_keys.empty()) return;
  notes.push_back("anyone who can reach " + host +
                  " can use this server; --api-key or --api-key-file closes it");
}

std::optional<Parsed> help_or_version(std::span<const std::string> args) {
  Parsed parsed;
  for (const std::string& argument : args) {
    if (argument == "-h" || argument == "--help") parsed.options.show_help = true;
    if (argument == "--version") parsed.options.show_version = true;
  }
  if (parsed.options.show_help || parsed.options.show_version) return parsed;
  return std::nullopt;
}

// Everything given, in all sources.
Result<Assignments> gather(std::span<const std::string> args, const Environment& env,
                           const FileReader& files) {
  auto given = from_arguments(args);
  if (!given) return given.error();
  Assignments all = std::move(given).value();
  std::ranges::move(from_environment(env), std::back_inserter(all));
  const std::string path = config_path_of(all);
  if (path.empty()) return all;
  auto config = from_config(path, files);
  if (!config) return config.error();
  std::ranges::move(config.value(), std::back_inserter(all));
  return all;
}

// ---------------------------------------------------------------------------
// Help.

constexpr std::string_view kServeIntro =
    "holdfast serve - an LLM server for GGUF models with an OpenAI-compatible API. What it has "
    "read once it does not read again: a conversation, a branch of it or a shared prompt goes on "
    "from the state that was kept, with exactly the answer a fresh start would give.";

struct Example {
  std::string_view what;
  std::string_view command;
};

constexpr Example kServeExamples[] = {
    {"Try it now, with the small model that comes along:", "holdfast serve"},
    {"Serve your own model:", "holdfast serve -m qwen3.gguf"},
    {"Ask it something:",
     "curl http://127.0.0.1:8080/v1/chat/completions \\\n"
     "  -H 'Content-Type: application/json' \\\n"
     "  -d '{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'"},
    {"Talk to it in the terminal:", "holdfast chat"},
    {"Put it behind an OpenAI client:",
     "export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none"},
    {"Long contexts: 128k tokens for one request, keys and values in 8 bits:",
     "holdfast serve -m qwen3.gguf -c 128k -np 1 -fa on -ctk q8_0 -ctv q8_0"},
    {"Several users: eight at a time with 16k tokens each, from other machines:",
     "holdfast serve -m qwen3.gguf -np 8 -c 128k \\\n"
     "  --host 0.0.0.0 --api-key-file keys.txt"},
    {"Everything on the GPU:", "holdfast serve -m qwen3.gguf -ngl all"},
};

constexpr std::string_view kServeSources =
    "Each option can also be set in the environment, --ctx-size as HOLDFAST_CTX_SIZE "
    "(llama-server's LLAMA_ARG_CTX_SIZE is understood too), or in the --config file as the line "
    "`ctx-size = 32k`; # begins a comment there. The command line beats the environment, and that "
    "beats the file. Numbers of tokens may end in k (1024) or m (1024 x 1024).";

std::string examples_text() {
  std::string text;
  for (const Example& example : kServeExamples) {
    text += "  " + std::string(example.what) + "\n    ";
    for (const char c : example.command)
      text += c == '\n' ? std::string("\n    ") : std::string(1, c);
    text += "\n\n";
  }
  return text;
}

// A space at which wrap_text() does not break.
constexpr char kFixedSpace = '\x01';

std::string help_with_default(const Option& option) {
  const std::string shown = option.kind.show(ServeOptions{});
  if (shown.empty()) return option.help;
  std::string tail = "(default: " + shown + ")";
  if (shown.size() < 16) std::replace(tail.begin(), tail.end(), ' ', kFixedSpace);
  return option.help + " " + tail;
}

// Names on the left, help beside them, or below where names are long.
std::string option_text(const Option& option, int width) {
  constexpr int kColumn = 30;
  std::string left = "  " + option.names + (is_flag(option) ? "" : " " + option.value);
  const std::string help = wrap_text(help_with_default(option), width, kColumn);
  if (left.size() + 2 > kColumn) return left + "\n" + help;
  return left + help.substr(left.size());
}

bool is_shown(const Option& option) {
  return option.support == Support::kFull || option.support == Support::kCommandLineOnly;
}

std::string group_text(const Group& group, int width) {
  std::string text;
  for (const Option& option : group.options) {
    if (is_shown(option)) text += option_text(option, width);
  }
  return text.empty() ? "" : group.title + ":\n" + text + "\n";
}

std::string no_effect_text(int width) {
  std::vector<std::string> names;
  for (const Group& group : table()) {
    for (const Option& option : group.options) {
      if (option.support != Support::kNoEffect) continue;
      const auto on = names_of(option).on;
      names.push_back(*std::find_if(
          on.begin(), on.end(), [](const std::string& name) { return name.starts_with("--"); }));
    }
  }
  return "Accepted without effect, so that llama-server command lines work:\n" +
         wrap_text(join(names, " "), width, 2);
}

// Damerau-Levenshtein: a swap of neighbours is one mistake.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

Environment environment_of(const char* const* envp) {
  Environment env;
  for (; envp != nullptr && *envp != nullptr; ++envp) {
    const std::string_view entry(*envp);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    env.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return env;
}

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  std::string text;
  std::array<char, 16384> buffer{};
  while (file) {
    const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer.data(), size);
    if (size < buffer.size()) break;
  }
  if (file && std::ferror(file.get()) == 0) return text;
  return Error{ErrorCode::kIo, "cannot read " + path + ": " + std::strerror(errno), path};
}

Result<Parsed> parse_serve_options(std::span<const std::string> args, const Environment& env,
                                   const FileReader& files) {
  if (const auto instead = help_or_version(args)) return *instead;
  auto given = gather(args, env, files);
  if (!given) return given.error();
  Parsed parsed;
  for (const Assignment& assignment : strongest(std::move(given).value())) {
    if (const auto applied = apply(assignment, parsed); !applied) return applied.error();
  }
  ServeOptions& options = parsed.options;
  if (const auto read = read_api_keys(options, files); !read) return read.error();
  if (const auto read = read_template(options, files); !read) return read.error();
  if (const auto sound = reconcile(options); !sound) return sound.error();
  note_open_server(options, parsed.notes);
  note_misspelled(env, parsed.notes);
  return parsed;
}

std::string overview_help(int width) {
  return wrap_text(
             "holdfast - serve a large language model from a GGUF file. What has been computed is "
             "never computed again.",
             width, 0) +
         R"(
Commands:
  holdfast serve [options]     start the server
  holdfast chat [question]     talk to a running server in the terminal
  holdfast version             print the version

Start here:
  holdfast serve               serve the small model that comes along
  holdfast serve -m my.gguf    serve your own
  holdfast chat                in a second terminal

`holdfast serve --help` and `holdfast chat --help` explain every option.
)";
}

std::string serve_help(int width) {
  width = std::max(width, 60);
  std::string text = wrap_text(kServeIntro, width, 0) + "\nExamples:\n" + examples_text();
  for (const Group& group : table()) text += group_text(group, width);
  return text + wrap_text(kServeSources, width, 0) + "\n" + no_effect_text(width);
}

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  // A third of the letters may be wrong; names of one or two letters are all alike.
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string nearest;
  if (name.size() < 4) return nearest;
  for (const std::string& candidate : known) {
    if (candidate.size() < 4) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string wrap_text(std::string_view text, int width, int indent) {
  const std::string margin(indent, ' ');
  const std::size_t room = std::max(20, width - indent);
  std::string wrapped;
  std::string line;
  for (const std::string& word : split(text, " ")) {
    if (!line.empty() && line.size() + 1 + word.size() > room) {
      wrapped += margin + std::exchange(line, "") + "\n";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  wrapped += margin + line + "\n";
  std::replace(wrapped.begin(), wrapped.end(), kFixedSpace, ' ');
  return wrapped;
}

}  // namespace holdfast
