#include "api/ollama_style.h"

#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "api/chat_message.h"
#include "api/json_fields.h"
#include "api/ollama_errors.h"
#include "api/openai_logprobs.h"
#include "cache/advice.h"

namespace holdfast::api {
namespace {

enum class Kind { kChat, kGenerate };

// What one object tells.
struct Told {
  std::string_view content;
  std::string_view thinking;
  std::vector<engine::ToolCall> calls;
  std::vector<TokenLogprobs> logprobs;
};

std::int64_t nanoseconds(double ms) { return std::llround(ms * 1e6); }

const char* reason_name(serve::FinishReason reason) {
  const bool cut =
      reason == serve::FinishReason::kMaxTokens || reason == serve::FinishReason::kContextFull;
  return cut ? "length" : "stop";
}

void append_calls(std::string& out, const std::vector<engine::ToolCall>& calls) {
  std::int64_t index = 0;
  append_array(out, calls, [&](const engine::ToolCall& call) {
    ObjectWriter object(out);
    if (!call.id.empty()) object.text("id", call.id);
    ObjectWriter function(object.key("function"));
    function.integer("index", index++);
    function.text("name", call.name);
    function.raw("arguments", arguments_object(call.arguments));
  });
}

void append_told(ObjectWriter& object, Kind kind, const Told& told) {
  if (kind == Kind::kGenerate) {
    object.text("response", told.content);
    if (!told.thinking.empty()) object.text("thinking", told.thinking);
    return;
  }
  ObjectWriter message(object.key("message"));
  message.text("role", "assistant");
  message.text("content", told.content);
  if (!told.thinking.empty()) message.text("thinking", told.thinking);
  if (!told.calls.empty()) append_calls(message.key("tool_calls"), told.calls);
}

void append_end(ObjectWriter& object, const AnswerUnderWay& answer) {
  const serve::Finished& finished = *answer.readers.front().finished();
  const serve::Timings& timings = finished.timings;
  object.text("done_reason", reason_name(finished.reason));
  object.integer("total_duration",
                 nanoseconds(timings.queued_ms + timings.prompt_ms + timings.predicted_ms));
  object.integer("load_duration", 0);
  object.integer("prompt_eval_count", finished.prompt_tokens);
  object.integer("prompt_eval_duration", nanoseconds(timings.prompt_ms));
  object.integer("eval_count", timings.predicted_tokens);
  object.integer("eval_duration", nanoseconds(timings.predicted_ms));
  object.integer("cached_tokens", timings.cached_tokens);
  const std::string receipts = receipts_json(answer);
  if (!receipts.empty()) object.raw("cache_receipt", receipts);
}

void open(ObjectWriter& object, std::string_view model) {
  object.text("model", model);
  object.text("created_at", ollama_time_now());
}

class OllamaStyle final : public AnswerStyle {
 public:
  OllamaStyle(AnswerUnderWay& answer, Kind kind) : answer_(answer), kind_(kind) {}

  [[nodiscard]] const char* stream_type() const override { return "application/x-ndjson"; }

  std::string whole() override {
    const ChoiceReader& reader = answer_.readers.front();
    const engine::Reply& reply = reader.reply();
    Told told{reply.content, reply.reasoning, reply.tool_calls, {}};
    if (answer_.options.logprobs()) told.logprobs = reader.all_logprobs();
    return object(told, true);
  }

  void begin(std::string&) override {}
  void on_progress(std::size_t, const serve::PromptProgress&, std::string&) override {}

  // A call is told of when it is complete: its arguments are an object.
  void on_deltas(std::size_t choice, const Deltas& deltas, const serve::Timings*,
                 std::string& out) override {
    for (const engine::ReplyDelta& delta : deltas) {
      if (delta.tool_index) add_call(*delta.tool_index, delta.tool, out);
      if (delta.content.empty() && delta.reasoning.empty()) continue;
      Told told{delta.content, delta.reasoning, {}, {}};
      if (answer_.options.logprobs()) told.logprobs = answer_.readers[choice].take_new_logprobs();
      append_line(out, object(told, false));
    }
  }
  void on_finished(std::size_t choice, std::string& out) override {
    tell_calls(out);
    Told told;
    if (answer_.options.logprobs()) told.logprobs = answer_.readers[choice].take_new_logprobs();
    append_line(out, object(told, true));
  }
  // Clients read every line as JSON.
  void keep_alive(std::string& out) override { append_line(out, object({}, false)); }
  void end(std::string&) override {}
  void fail(const Error& error, std::string& out) override {
    append_line(out, ollama_error_json(error.message));
  }

 private:
  static void append_line(std::string& out, std::string_view json) {
    out += json;
    out += '\n';
  }

  [[nodiscard]] std::string object(const Told& told, bool done) const {
    const std::string& asked = answer_.options.model;
    std::string out;
    {
      ObjectWriter object(out);
      open(object, asked.empty() ? answer_.backend->model_name : asked);
      append_told(object, kind_, told);
      object.raw("done", done ? "true" : "false");
      if (done) append_end(object, answer_);
      if (!told.logprobs.empty()) append_chat_tokens(object.key("logprobs"), told.logprobs);
    }
    return out;
  }

  void add_call(std::size_t index, const engine::ToolCall& part, std::string& out) {
    if (index != index_) tell_calls(out);
    index_ = index;
    if (calls_.empty()) calls_.emplace_back();
    engine::ToolCall& call = calls_.front();
    if (!part.id.empty()) call.id = part.id;
    if (!part.name.empty()) call.name = part.name;
    call.arguments += part.arguments;
  }
  void tell_calls(std::string& out) {
    if (calls_.empty()) return;
    append_line(out, object({{}, {}, std::exchange(calls_, {}), {}}, false));
  }

  AnswerUnderWay& answer_;
  const Kind kind_;
  std::vector<engine::ToolCall> calls_;  // the one that is being written
  std::size_t index_ = 0;                // its number
};

}  // namespace

std::string ollama_time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return cache::utc_text(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

std::unique_ptr<AnswerStyle> make_ollama_chat_style(AnswerUnderWay& answer) {
  return std::make_unique<OllamaStyle>(answer, Kind::kChat);
}

std::unique_ptr<AnswerStyle> make_ollama_generate_style(AnswerUnderWay& answer) {
  return std::make_unique<OllamaStyle>(answer, Kind::kGenerate);
}

std::string ollama_loaded_json(bool chat, std::string_view model, std::string_view done_reason) {
  std::string out;
  {
    ObjectWriter object(out);
    open(object, model);
    append_told(object, chat ? Kind::kChat : Kind::kGenerate, {});
    object.raw("done", "true");
    object.text("done_reason", done_reason);
  }
  return out;
}

}  // namespace holdfast::api
