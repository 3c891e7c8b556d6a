#include "cli/exact_talk.h"

#include <algorithm>
#include <utility>

#include "cli/chat_json.h"
#include "cli/exact_text.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

Json user(const std::string& text) { return {{"role", "user"}, {"content", text}}; }

// As clients send it back.
Json as_history(const Json& message, bool with_thoughts) {
  Json kept = {{"role", "assistant"}, {"content", text_at(message, "content")}};
  const std::string thoughts = text_at(message, "reasoning_content");
  if (with_thoughts && !thoughts.empty()) kept["reasoning_content"] = thoughts;
  const Json& calls = child_of(message, "tool_calls");
  if (calls.is_array() && !calls.empty()) kept["tool_calls"] = calls;
  return kept;
}

bool is_of_this_server(const std::string& source) {
  return source == "live slot" || source == "memory";
}

}  // namespace

std::string source_of(const ExactAnswer& answer) {
  return answer.restored_from == "snapshot in place" ? "live slot" : answer.restored_from;
}

void make_comparable(Json& request) {
  request["temperature"] = 0;
  request["logprobs"] = true;
  request["stream"] = false;
  request["cache_receipt"] = true;
  request.erase("stream_options");
}

ScriptedTalk::ScriptedTalk(TalkScript script)
    : script_(std::move(script)), history_{script_.opening, {}}, left_(history_) {}

// --- asking -----------------------------------------------------------------------

Json ScriptedTalk::request(const Json& messages, const TalkStep& step) const {
  Json made = script_.settings;
  made["messages"] = messages;
  made["max_tokens"] = step.max_tokens;
  if (step.calls && made.contains("tools")) made["tool_choice"] = "required";
  if (step.move == TalkMove::kSeveral) made["n"] = 2;
  make_comparable(made);
  return made;
}

// After results of tools it is the model's turn.
void ScriptedTalk::say(const std::string& text) {
  if (text_at(history_.messages.back(), "role") != "tool") history_.messages.push_back(user(text));
}

void ScriptedTalk::cut(std::size_t messages) {
  Json& all = history_.messages;
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(messages), all.end());
  std::erase_if(history_.answers,
                [&](const PastAnswer& answer) { return answer.message >= messages; });
}

// After `kept` messages from one of this role on, or not at all where there is none.
void ScriptedTalk::cut_at_some(const char* role, std::size_t where, std::size_t kept) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < history_.messages.size(); ++i) {
    const Json& message = history_.messages[i];
    if (text_at(message, "role") == role && !message.contains("tool_calls")) places.push_back(i);
  }
  if (!places.empty()) cut(places[where % places.size()] + kept);
}

std::vector<Json> ScriptedTalk::ask(const TalkStep& step) {
  if (step.move == TalkMove::kAgain && asked_ > 0) {
    cut(asked_);
    return {request(history_.messages, step)};
  }
  if (step.move == TalkMove::kEdit) cut_at_some("user", step.where, 0);
  if (step.move == TalkMove::kBranch) {
    left_ = history_;
    cut_at_some("assistant", step.where, 1);
  }
  if (step.move == TalkMove::kReturn) std::swap(left_, history_);
  std::vector<Json> requests;
  for (std::size_t i = 1; i < step.texts.size(); ++i) {
    Json messages = history_.messages;
    messages.push_back(user(step.texts[i]));
    requests.push_back(request(messages, step));
  }
  say(step.texts.front());
  asked_ = history_.messages.size();
  requests.insert(requests.begin(), request(history_.messages, step));
  return requests;
}

// --- answers ----------------------------------------------------------------------

// Answers of one step are given at once: what one of them has read is read for the others.
std::vector<std::string> ScriptedTalk::reuse_of(const std::vector<ExactAnswer>& answers,
                                                const TalkStep& step) const {
  const bool decoded = std::ranges::any_of(history_.answers, [&](const PastAnswer& past) {
    return std::ranges::all_of(
        answers, [&](const ExactAnswer& answer) { return past.reused_unread(answer); });
  });
  std::vector<std::string> names;
  for (const ExactAnswer& answer : answers) {
    const std::string source = source_of(answer);
    if (decoded && is_of_this_server(source)) {
      names.emplace_back(step.patience_ms > 0 ? "resumed" : "decoded");
    } else {
      names.push_back(answer.prewarmed > 0 ? "pre-warmed" : source);
    }
  }
  return names;
}

// Of what came from outside, or was begun before, nobody knows: it counts as read.
void ScriptedTalk::take(const std::vector<ExactAnswer>& answers, const TalkStep& step) {
  for (const ExactAnswer& answer : answers) {
    const bool own = is_of_this_server(source_of(answer)) || answer.restored == 0;
    const bool known = own && step.patience_ms == 0;
    for (PastAnswer& past : history_.answers)
      past.read = past.read || !known || !past.reused_unread(answer);
  }
  const ExactAnswer& first = answers.front();
  history_.answers.push_back({history_.messages.size(), first.prompt_tokens, false});
  history_.messages.push_back(as_history(first.message, script_.sends_thoughts));
  const Json calls = child_of(history_.messages.back(), "tool_calls");
  if (!calls.is_array()) return;
  MadeText results(script_.seed + history_.messages.size());
  for (const Json& call : calls) {
    history_.messages.push_back({{"role", "tool"},
                                 {"tool_call_id", text_at(call, "id")},
                                 {"content", results.prose(1 + results.below(40))}});
  }
}

}  // namespace holdfast::cli
