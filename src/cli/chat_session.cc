#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "cli/chat.h"
#include "cli/chat_json.h"
#include "cli/chat_view.h"
#include "cli/sse_parser.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kLoadingCheckEvery{250};

// --- Answers that are refusals ----------------------------------------------

std::string error_text(const ClientResponse& response) {
  const Json body = lenient_json(response.body);
  const Json& error = child_of(body, "error");
  if (error.is_string()) return error.get<std::string>();
  return text_at(error, "message");
}

Error refusal(const ClientResponse& response) {
  const std::string said = error_text(response);
  if (response.status == 401 || response.status == 403) {
    return {ErrorCode::kUnauthorized, "The server asks for a key: pass it with --api-key.", ""};
  }
  const ErrorCode code = response.status == 503 ? ErrorCode::kUnavailable : ErrorCode::kEngine;
  if (!said.empty()) return {code, "The server says: " + said, ""};
  return {code, "The server answered " + std::to_string(response.status) + ".", ""};
}

Error unreachable(const Error& error, const Url& url) {
  if (error.code != ErrorCode::kUnavailable) return error;
  return {error.code, "No server at " + url.text() + ". Start one with `holdfast serve`.", ""};
}

Result<void> unless_cancelled(const Error& error) {
  if (error.code == ErrorCode::kCancelled) return {};
  return error;
}

// How far loading has come, where the server tells; negative where it does not.
double loading_progress(const ClientResponse& response) {
  const Json body = lenient_json(response.body);
  for (const Json* part : {&body, &child_of(body, "error")}) {
    if (part->is_object() && part->contains("progress")) return number_at(*part, "progress");
  }
  return -1.0;
}

// --- What an answer cost ----------------------------------------------------

TurnStats stats_of_timings(const Json& timings) {
  return {static_cast<std::int64_t>(number_at(timings, "cache_n")),
          static_cast<std::int64_t>(number_at(timings, "prompt_n")),
          number_at(timings, "prompt_ms"),
          static_cast<std::int64_t>(number_at(timings, "predicted_n")),
          number_at(timings, "predicted_per_second"),
          static_cast<std::int64_t>(number_at(timings, "draft_n")),
          static_cast<std::int64_t>(number_at(timings, "draft_n_accepted"))};
}

// Servers without timings still count their tokens.
TurnStats stats_of_usage(const Json& usage) {
  const auto cached = static_cast<std::int64_t>(
      number_at(child_of(usage, "prompt_tokens_details"), "cached_tokens"));
  const auto prompt = static_cast<std::int64_t>(number_at(usage, "prompt_tokens"));
  return {cached, prompt - cached, 0.0,
          static_cast<std::int64_t>(number_at(usage, "completion_tokens")), 0.0};
}

}  // namespace

// What has come of one answer.
struct ChatSession::Answer {
  ChatMessage message{"assistant", "", ""};
  std::string finish_reason;
  TurnStats stats;
  bool timed = false;
  bool complete = false;        // [DONE] came
  std::string error;            // sent by the server in the middle of the stream
  std::optional<Error> broken;  // the connection's end, where it was not ours

  [[nodiscard]] bool empty() const { return message.content.empty() && message.reasoning.empty(); }

  void take(const SseEvent& event, AnswerView& view) {
    if (event.data == "[DONE]") {
      complete = true;
      return;
    }
    const Json chunk = lenient_json(event.data);
    const Json& failure = child_of(chunk, "error");
    if (!failure.is_null())
      error = failure.is_string() ? failure.get<std::string>() : text_at(failure, "message");
    const Json& choices = child_of(chunk, "choices");
    if (choices.is_array() && !choices.empty()) take_choice(choices.front(), view);
    take_stats(chunk);
  }

 private:
  void take_choice(const Json& choice, AnswerView& view) {
    const Json& delta = child_of(choice, "delta");
    const std::string reasoning = text_at(delta, "reasoning_content");
    const std::string content = text_at(delta, "content");
    message.reasoning += reasoning;
    message.content += content;
    view.reasoning(reasoning);
    view.content(content);
    const std::string reason = text_at(choice, "finish_reason");
    if (!reason.empty()) finish_reason = reason;
  }

  void take_stats(const Json& chunk) {
    const Json& timings = child_of(chunk, "timings");
    const Json& usage = child_of(chunk, "usage");
    if (timings.is_object()) stats = stats_of_timings(timings);
    timed = timed || timings.is_object();
    if (!timed && usage.is_object()) stats = stats_of_usage(usage);
  }
};

ChatSession::ChatSession(ChatOptions options, HttpClient client, ChatIo& io)
    : options_(std::move(options)), client_(std::move(client)), io_(io) {}

std::string ChatSession::messages_json() const {
  Json messages = Json::array();
  if (!options_.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", options_.system}});
  }
  for (const ChatMessage& message : history_) {
    Json entry = {{"role", message.role}, {"content", message.content}};
    if (!message.reasoning.empty()) entry["reasoning_content"] = message.reasoning;
    messages.push_back(std::move(entry));
  }
  return dump_json(messages, 2);
}

std::string ChatSession::request_json() const {
  Json body = {{"messages", lenient_json(messages_json())},
               {"stream", true},
               {"stream_options", {{"include_usage", true}}}};
  if (!options_.model.empty()) body["model"] = options_.model;
  if (options_.temperature) body["temperature"] = *options_.temperature;
  if (options_.max_tokens) body["max_tokens"] = *options_.max_tokens;
  if (!options_.think) body["chat_template_kwargs"] = {{"enable_thinking", false}};
  return dump_json(body);
}

ClientRequest ChatSession::request_to(std::string target) const {
  ClientRequest request{.target = std::move(target)};
  if (!options_.api_key.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + options_.api_key);
  }
  return request;
}

Result<void> ChatSession::wait_until_ready() {
  std::optional<env::ProgressLine> progress;
  while (true) {
    const auto health = client_.fetch(request_to("/health"));
    if (!health) return unreachable(health.error(), client_.url());
    if (health->status != 503) return {};
    if (!progress) progress.emplace(io_.log(), "The server is loading its model");
    progress->update(loading_progress(*health));
    std::this_thread::sleep_for(kLoadingCheckEvery);
    if (io_.interrupted()) return Error{ErrorCode::kCancelled, "stopped", ""};
  }
}

Result<ChatSession::Answer> ChatSession::receive() {
  ClientRequest request = request_to("/v1/chat/completions");
  request.method = "POST";
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Accept", "text/event-stream");
  request.body = request_json();
  Answer answer;
  AnswerView view(io_);
  SseParser parser;
  const auto response = client_.fetch(request, [&](std::string_view piece) {
    for (const SseEvent& event : parser.feed(piece)) answer.take(event, view);
  });
  if (response && response->status / 100 != 2) return refusal(*response);
  if (!response && answer.empty()) return unreachable(response.error(), client_.url());
  if (!response && !answer.complete) answer.broken = response.error();
  return answer;
}

// A server that is loading is worth waiting for; then the question is put again.
Result<ChatSession::Answer> ChatSession::receive_when_ready() {
  auto answer = receive();
  if (answer || answer.error().code != ErrorCode::kUnavailable) return answer;
  if (const auto ready = wait_until_ready(); !ready) return ready.error();
  return receive();
}

Result<void> ChatSession::ask(const std::string& text) {
  history_.push_back({"user", text});
  const auto answer = receive_when_ready();
  if (!answer || answer->empty()) history_.pop_back();  // CHAT-1
  if (!answer) return unless_cancelled(answer.error());
  if (!answer->empty()) history_.push_back(answer->message);  // CHAT-2
  account(answer->stats);
  if (answer->broken) return unless_cancelled(*answer->broken);
  if (!answer->error.empty()) {
    return Error{ErrorCode::kEngine, "The server says: " + answer->error, ""};
  }
  if (answer->finish_reason == "length") io_.note("(The answer reached its limit of tokens.)");
  return {};
}

void ChatSession::account(const TurnStats& stats) {
  last_ = stats;
  ++turns_;
  total_.cached += stats.cached;
  total_.read += stats.read;
  total_.read_ms += stats.read_ms;
  total_.generated += stats.generated;
}

std::optional<std::string> ChatSession::undo() {
  if (history_.size() < 2) return std::nullopt;
  history_.pop_back();
  std::string text = std::move(history_.back().content);
  history_.pop_back();
  return text;
}

}  // namespace holdfast::cli
