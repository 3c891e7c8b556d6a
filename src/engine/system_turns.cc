#include "engine/system_turns.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace holdfast::engine {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  for (const Json& part : content) {
    if (!text.empty()) text += "\n\n";
    text += part.value("text", "");
  }
  return text;
}

std::string reminder_of(const Json& message) {
  return "<system-reminder>\n" + text_of(message.at("content")) + "\n</system-reminder>";
}

bool has_role(const Json& message, const char* role) { return message.value("role", "") == role; }

// `before` and `after` become one text.
void join_content(Json& message, const std::string& before, const std::string& after) {
  message["content"] = before + "\n\n" + after;
}

// Puts reminders where SystemTurns says, message by message.
class TurnWriter {
 public:
  explicit TurnWriter(SystemTurns turns) : turns_(turns) {}

  void add(Json message) {
    if (has_role(message, "system")) {
      add_system(std::move(message));
    } else {
      if (!waiting_.empty()) place_waiting(message);
      if (repeats_user(message)) return join_to_last(message);
      messages_.push_back(std::move(message));
    }
  }

  [[nodiscard]] std::string take() {
    if (!waiting_.empty()) add_user_message();
    return messages_.dump();
  }

 private:
  void add_system(Json message) {
    if (messages_.empty()) {
      messages_.push_back(std::move(message));
    } else if (messages_.size() == 1 && has_role(messages_[0], "system") && waiting_.empty()) {
      join_content(messages_[0], text_of(messages_[0].at("content")), text_of(message["content"]));
    } else if (turns_ == SystemTurns::kAsUser) {
      messages_.push_back({{"role", "user"}, {"content", reminder_of(message)}});
    } else {
      add_inside(reminder_of(message));
    }
  }

  // Where roles have to alternate, two user messages in a row are one.
  [[nodiscard]] bool repeats_user(const Json& message) const {
    return turns_ == SystemTurns::kInsideUser && has_role(message, "user") && !messages_.empty() &&
           has_role(messages_.back(), "user");
  }

  void join_to_last(const Json& message) {
    Json& last = messages_.back();
    join_content(last, text_of(last.at("content")), text_of(message.at("content")));
  }

  void add_inside(const std::string& reminder) {
    Json& last = messages_.back();
    if (has_role(last, "user")) {
      join_content(last, text_of(last.at("content")), reminder);
    } else {
      waiting_ += (waiting_.empty() ? "" : "\n\n") + reminder;
    }
  }

  // No user message stood before it; perhaps one comes after.
  void place_waiting(Json& next) {
    if (!has_role(next, "user")) return add_user_message();
    join_content(next, std::exchange(waiting_, {}), text_of(next.at("content")));
  }

  void add_user_message() {
    messages_.push_back({{"role", "user"}, {"content", std::exchange(waiting_, {})}});
  }

  const SystemTurns turns_;
  Json messages_ = Json::array();
  std::string waiting_;  // reminders that belong before the next message
};

// Words that no template writes of itself.
constexpr const char* kProbe =
    R"([{"role":"system","content":"probe-one"},{"role":"user","content":"probe-two"},)"
    R"({"role":"system","content":"probe-three"},{"role":"assistant","content":"probe-four"},)"
    R"({"role":"user","content":"probe-five"}])";

bool in_order(const std::string& prompt) {
  std::size_t at = 0;
  for (const char* word : {"probe-one", "probe-two", "probe-three", "probe-four", "probe-five"}) {
    at = prompt.find(word, at);
    if (at == std::string::npos) return false;
  }
  return true;
}

}  // namespace

std::string with_system_turns(const std::string& messages_json, SystemTurns turns) {
  if (turns == SystemTurns::kInPlace) return messages_json;
  TurnWriter writer(turns);
  for (Json& message : Json::parse(messages_json)) writer.add(std::move(message));
  return writer.take();
}

SystemTurns system_turns_of(const TryTemplate& render) {
  using enum SystemTurns;
  for (const SystemTurns turns : {kInPlace, kAsUser, kInsideUser}) {
    const auto prompt = render(with_system_turns(kProbe, turns));
    if (prompt && in_order(*prompt)) return turns;
  }
  return kAsUser;
}

}  // namespace holdfast::engine
