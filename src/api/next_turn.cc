#include "api/next_turn.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/chat_message.h"
#include "api/quoted_chat.h"

namespace holdfast::api {

namespace {

// Stands for what the client will say; it is not read.
constexpr const char* kAfterwards = "...";

// In normalised JSON: a quote inside of a text is escaped.
bool holds_answers(const ChatRequest& request) {
  return request.input.messages_json.find(R"("role":"assistant")") != std::string::npos;
}

std::vector<ChatMessage> messages_after(const ChatMessage& answer) {
  if (answer.calls.empty()) return {{.role = "user", .texts = {kAfterwards}}};
  std::vector<ChatMessage> results;
  for (const engine::ToolCall& call : answer.calls) {
    results.push_back({.role = "tool", .texts = {kAfterwards}, .tool_call_id = call.id});
  }
  return results;
}

// Two JSON arrays as one. REQUIRES: neither is empty.
std::string joined(const std::string& first, const std::string& second) {
  return first.substr(0, first.size() - 1) + ',' + second.substr(1);
}

std::size_t count_messages(const ChatRequest& request) {
  return request.sources.empty() ? 0 : request.sources.back().message + 1;  // CHATREQ-6
}

// Where the last answer ends; 0: nothing says so.
TokenPos end_of_answer(const std::vector<MessageSpan>& spans) {
  const auto answer =
      std::ranges::find(spans.rbegin(), spans.rend(), Role::kAssistant, &MessageSpan::role);
  return answer == spans.rend() || answer == spans.rbegin() ? 0 : answer->end;
}

}  // namespace

bool returns_thoughts(const ChatRequest& request) {
  const bool some = std::ranges::any_of(request.sources, &MessageSource::has_reasoning);
  return some || (request.protocol_returns_thoughts && !holds_answers(request));
}

ChatRequest with_answer(const ChatRequest& request, const engine::Reply& reply,
                        const std::string& answer_id) {
  ChatMessage answer{.role = "assistant", .texts = {reply.content}, .calls = reply.tool_calls};
  if (returns_thoughts(request) && !reply.reasoning.empty()) {
    answer.reasoning = reply.reasoning;
    answer.answer_id = answer_id;
  }
  std::vector<ChatMessage> news = {answer};
  std::ranges::move(messages_after(answer), std::back_inserter(news));
  ChatRequest next = request;
  for (AnswerRef ref : answer_refs_of(news)) {
    ref.message += count_messages(request);
    next.answer_refs.push_back(std::move(ref));
  }
  next.input.messages_json = joined(request.input.messages_json, messages_json(news));
  next.input.add_generation_prompt = false;
  next.input.continue_final_message = false;
  return next;
}

std::optional<serve::PrewarmPrompt> next_prompt(const Backend& backend, const AskedChat& asked,
                                                const engine::Reply& reply,
                                                const std::string& answer_id) {
  const ChatRequest request = with_answer(asked.request, reply, answer_id);
  const auto quoted = render_quoting(backend, request, asked.space, AskedBy::kServer);
  if (!quoted) return std::nullopt;
  Tokens tokens = tokenize_quoted(backend, asked.space, *quoted).tokens;
  serve::PrewarmPrompt next;
  next.space = asked.space;
  next.spans = backend.text->message_spans(quoted->chat, tokens);
  const TokenPos end = end_of_answer(next.spans);
  if (end == 0) return std::nullopt;
  tokens.resize(static_cast<std::size_t>(end));
  std::erase_if(next.spans, [&](const MessageSpan& span) { return span.begin >= end; });
  next.prompt = std::move(tokens);
  next.prepared = backend.scheduler->prepare(next.prompt, next.space, true);
  return next;
}

void offer_next_turn(const std::shared_ptr<const Backend>& backend, const Worker& worker,
                     std::shared_ptr<const AskedChat> asked, const engine::Reply& reply,
                     const std::string& answer_id, const std::string& request) {
  const auto make = [backend, asked = std::move(asked), reply, answer_id, request](bool wanted) {
    if (!wanted) return;
    auto next = next_prompt(*backend, *asked, reply, answer_id);
    if (!next) return;
    next->request = request;
    backend->scheduler->prewarm(std::move(*next));
  };
  const auto prepare = [worker, make] { worker.pool->post({worker.client, worker.heavy, make}); };
  backend->scheduler->offer_prewarm({request, prepare});
}

}  // namespace holdfast::api
