#include "cli/generation_log.h"

#include <string>

namespace holdfast::cli {

namespace {

// Shorter prompts are read before anybody would look.
constexpr TokenPos kLongPrompt = 4096;

const char* reason_name(serve::FinishReason reason) {
  switch (reason) {
    case serve::FinishReason::kStopToken: return "end of turn";
    case serve::FinishReason::kStopString: return "stop string";
    case serve::FinishReason::kMaxTokens: return "max tokens";
    case serve::FinishReason::kContextFull: return "context full";
    case serve::FinishReason::kBlankTail: return "only white space after a tool call";
  }
  return "?";
}

double per_second(TokenPos tokens, double ms) { return ms > 0.0 ? tokens * 1000.0 / ms : 0.0; }

double rounded(double value) { return static_cast<double>(static_cast<long>(value * 10.0)) / 10.0; }

}  // namespace

void GenerationLog::on_proved(const serve::Proof& proof) {
  const env::LogFields fields{
      {"request", proof.request}, {"tokens", proof.position}, {"ms", proof.ms}};
  if (proof.equal) {
    env::Log::info("proved a restored state", fields);
    return;
  }
  env::Log::error(
      "a restored state is wrong: " + proof.words() +
          ". Nothing is restored any more, until a restart; what it was made with is in "
          "`holdfast doctor`",
      fields);
}

void GenerationLog::on_checked(const engine::ConformanceReport& report) {
  if (on_engine_checked) on_engine_checked(report);
}

void GenerationLog::forget_bar(const std::string& request_id) {
  if (bar_request_ != request_id) return;
  bar_.reset();
  bar_request_.clear();
}

void GenerationLog::on_started(const serve::GenerateRequest& request,
                               const serve::Started& started) {
  env::Log::debug("generation started", {{"id", request.id},
                                         {"slot", started.slot.value},
                                         {"prompt", started.prompt_tokens},
                                         {"cached", started.cached_tokens}});
  const TokenPos to_read = started.prompt_tokens - started.cached_tokens;
  if (to_read < kLongPrompt || bar_ != nullptr) return;
  bar_ = std::make_unique<env::ProgressLine>(
      env::Log::logger(), "reading " + std::to_string(to_read) + " prompt tokens");
  bar_request_ = request.id;
}

void GenerationLog::on_progress(const serve::GenerateRequest& request,
                                const serve::PromptProgress& progress) {
  if (bar_request_ != request.id || bar_ == nullptr) return;
  const double to_read = progress.total - progress.cached;
  bar_->update((progress.processed - progress.cached) / to_read);
  if (progress.processed == progress.total) forget_bar(request.id);
}

void GenerationLog::on_finished(const serve::GenerateRequest& request,
                                const serve::Finished& finished) {
  forget_bar(request.id);
  const serve::Timings& t = finished.timings;
  env::Log::debug("generated",
                  {{"id", request.id},
                   {"slot", finished.slot.value},
                   {"cached", t.cached_tokens},
                   {"read", t.prompt_tokens},
                   {"read_per_s", rounded(per_second(t.prompt_tokens, t.prompt_ms))},
                   {"wrote", t.predicted_tokens},
                   {"wrote_per_s", rounded(per_second(t.predicted_tokens - 1, t.predicted_ms))},
                   {"end", reason_name(finished.reason)}});
}

void GenerationLog::on_failed(const serve::GenerateRequest& request, const Error& error) {
  forget_bar(request.id);
  const bool expected =
      error.code == ErrorCode::kCancelled || error.code == ErrorCode::kUnavailable;
  if (expected) {
    env::Log::debug("generation ended early", {{"id", request.id}, {"why", error.message}});
  } else {
    env::Log::error("generation failed", {{"id", request.id}, {"why", error.message}});
  }
}

}  // namespace holdfast::cli
