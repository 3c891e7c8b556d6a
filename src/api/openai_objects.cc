#include "api/openai_objects.h"

#include <algorithm>

namespace holdfast::api {
namespace {

double ratio(double a, double b) { return b > 0.0 ? a / b : 0.0; }

}  // namespace

void append_head(ObjectWriter& object, const ReplyHead& head, std::string_view kind) {
  object.text("id", head.id);
  object.text("object", kind);
  object.integer("created", head.created);
  object.text("model", head.model);
  object.text("system_fingerprint", head.system_fingerprint);
}

void append_usage(std::string& out, const Usage& usage) {
  ObjectWriter object(out);
  object.integer("prompt_tokens", usage.prompt_tokens);
  object.integer("completion_tokens", usage.completion_tokens);
  object.integer("total_tokens", std::int64_t{usage.prompt_tokens} + usage.completion_tokens);
  ObjectWriter details(object.key("prompt_tokens_details"));
  details.integer("cached_tokens", usage.cached_tokens);
}

void append_timings(std::string& out, const serve::Timings& timings) {
  ObjectWriter object(out);
  object.integer("cache_n", timings.cached_tokens);
  object.integer("prompt_n", timings.prompt_tokens);
  object.real("prompt_ms", timings.prompt_ms);
  object.real("prompt_per_token_ms", ratio(timings.prompt_ms, timings.prompt_tokens));
  object.real("prompt_per_second", ratio(1000.0 * timings.prompt_tokens, timings.prompt_ms));
  object.integer("predicted_n", timings.predicted_tokens);
  object.real("predicted_ms", timings.predicted_ms);
  // The time begins with the first token, so it is that of the others.
  const double steps = std::max<TokenPos>(timings.predicted_tokens - 1, 0);
  object.real("predicted_per_token_ms", ratio(timings.predicted_ms, steps));
  object.real("predicted_per_second",
              steps > 0.0 ? ratio(1000.0 * steps, timings.predicted_ms) : 0.0);
  if (timings.drafted_tokens == 0) return;
  object.integer("draft_n", static_cast<std::int64_t>(timings.drafted_tokens));
  object.integer("draft_n_accepted", static_cast<std::int64_t>(timings.accepted_tokens));
}

void append_progress(std::string& out, const serve::PromptProgress& progress) {
  ObjectWriter object(out);
  object.integer("total", progress.total);
  object.integer("cache", progress.cached);
  object.integer("processed", progress.processed);
  object.real("time_ms", progress.ms);
}

}  // namespace holdfast::api
