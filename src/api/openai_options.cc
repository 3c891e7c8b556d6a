#include "api/openai_options.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "api/openai_fields.h"
#include "api/openai_sampling.h"
#include "api/session_id.h"

namespace holdfast::api {
namespace {

// Every generated character is compared with every stop string.
constexpr std::size_t kStopsMax = 32;
constexpr std::size_t kStopBytesMax = 1024;
constexpr std::int64_t kTopLogprobsMax = 20;
constexpr std::int64_t kTimeoutMsMax = 24LL * 3600 * 1000;

TokenPos read_max_tokens(const JsonFields& body, const ChatDefaults& defaults) {
  std::int64_t limit = defaults.max_tokens;
  for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"})
    limit = body.integer(name, -1, std::int64_t{1} << 53).value_or(limit);
  return static_cast<TokenPos>(std::min(limit, kIntMax));
}

std::vector<std::string> read_stops(const JsonFields& body) {
  const Json* stop = body.find("stop");
  if (stop == nullptr) return {};
  if (!stop->is_string())
    return body.texts("stop", kStopsMax, kStopBytesMax).value_or(std::vector<std::string>{});
  const auto& text = stop->get_ref<const std::string&>();
  if (text.empty() || text.size() > kStopBytesMax) body.fail("stop", "must have 1 to 1024 bytes");
  return {text};
}

int read_n(const JsonFields& body, const ChatDefaults& defaults) {
  const char* name = body.has("n") ? "n" : "n_cmpl";
  const std::int64_t n = body.integer(name, 1, defaults.n_max).value_or(1);
  const std::int64_t best_of = body.integer("best_of", 1, kIntMax).value_or(1);
  if (best_of != 1 && best_of != n) body.fail("best_of", "must be 1 or equal to n");
  return static_cast<int>(n);
}

std::chrono::milliseconds read_timeout(const JsonFields& body, const ChatDefaults& defaults) {
  const std::chrono::milliseconds asked(body.integer("timeout_ms", 0, kTimeoutMsMax).value_or(0));
  if (asked.count() == 0 || defaults.timeout.count() == 0) return std::max(asked, defaults.timeout);
  return std::min(asked, defaults.timeout);
}

// "spec" as --spec has it, or llama-server's "speculative.type": a request may do
// without the server's companion, not bring another.
bool read_wants_drafts(const JsonFields& body, const ChatDefaults& defaults) {
  bool wanted = true;
  for (const char* name : {"spec", "speculative.type"}) {
    const auto kind = body.text(name);
    if (!kind) continue;
    wanted = *kind != "off" && *kind != "none";
    const std::string_view plain = std::string_view(*kind).starts_with("draft-")
                                       ? std::string_view(*kind).substr(6)
                                       : std::string_view(*kind);
    const bool known = !wanted || plain == "auto" || plain == defaults.companion ||
                       (plain == "simple" && defaults.companion == "draft") ||
                       (plain.starts_with("ngram-") && defaults.companion == "ngram");
    if (!known) {
      body.fail(name, defaults.companion.empty()
                          ? "must be 'auto' or 'off': this server runs without a companion"
                          : "must be 'auto', 'off' or '" + defaults.companion + "'");
    }
  }
  return wanted;
}

DraftLimits read_draft(const JsonFields& body, const ChatDefaults& defaults) {
  DraftLimits draft = defaults.draft;
  for (const char* name : {"draft_max", "speculative.n_max"}) {
    if (const auto max = body.integer(name, 0, kIntMax)) {
      draft.max = static_cast<TokenPos>(std::min<std::int64_t>(*max, defaults.draft.max));
    }
  }
  for (const char* name : {"draft_min", "speculative.n_min"}) {
    if (const auto min = body.integer(name, 0, kIntMax)) draft.min = static_cast<TokenPos>(*min);
  }
  for (const char* name : {"draft_p_min", "speculative.p_min"}) {
    if (const auto least = body.number(name, 0, 1)) draft.p_min = static_cast<float>(*least);
  }
  if (!read_wants_drafts(body, defaults)) draft.max = 0;
  return draft;
}

std::optional<int> read_id_slot(const JsonFields& body) {
  const auto slot = body.integer("id_slot", -1, kIntMax);
  if (!slot || *slot < 0) return std::nullopt;
  return static_cast<int>(*slot);
}

bool read_include_usage(const JsonFields& body) {
  const auto options = body.object("stream_options");
  return options && options->boolean("include_usage").value_or(false);
}

}  // namespace

CompletionOptions read_options(const JsonFields& body, const ChatDefaults& defaults) {
  CompletionOptions options;
  options.model = body.text("model").value_or("");
  options.sampling = read_sampling(body, defaults);
  options.n = read_n(body, defaults);
  options.max_tokens = read_max_tokens(body, defaults);
  options.draft = read_draft(body, defaults);
  options.stops = read_stops(body);
  options.stream = body.boolean("stream").value_or(false);
  options.include_usage = read_include_usage(body);
  options.return_progress = body.boolean("return_progress").value_or(false);
  options.timings_per_token = body.boolean("timings_per_token").value_or(false);
  options.reuse = body.boolean("cache_prompt").value_or(true);
  options.cache_receipt = body.boolean("cache_receipt").value_or(false);
  options.verbose = body.boolean("verbose").value_or(defaults.verbose);
  options.cache_salt = read_cache_salt(body);
  options.session = read_session(body);
  options.id_slot = read_id_slot(body);
  options.timeout = read_timeout(body, defaults);
  return options;
}

std::optional<int> read_chat_logprobs(const JsonFields& body) {
  const bool wanted = body.boolean("logprobs").value_or(false);
  const auto top = body.integer("top_logprobs", 0, kTopLogprobsMax).value_or(0);
  if (wanted) return static_cast<int>(top);
  if (top > 0) body.fail("top_logprobs", "needs 'logprobs' to be true");
  return std::nullopt;
}

std::optional<int> read_text_logprobs(const JsonFields& body) {
  const Json* value = body.find("logprobs");
  if (value != nullptr && value->is_boolean())
    return value->get<bool>() ? std::optional<int>(0) : std::nullopt;
  auto top = body.integer("logprobs", 0, kTopLogprobsMax);
  if (const auto probs = body.integer("n_probs", 0, kTopLogprobsMax); probs && !top)
    top = *probs > 0 ? probs : std::nullopt;
  if (!top) return std::nullopt;
  return static_cast<int>(*top);
}

}  // namespace holdfast::api
