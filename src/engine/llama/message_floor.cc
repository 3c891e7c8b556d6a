#include "engine/llama/message_floor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace holdfast::llama {

namespace {

using Json = nlohmann::ordered_json;

struct Weighing {
  const MessageFloor::CountText& text_at_least;
  bool shows_users = false;
  std::int64_t tokens_of_message = 0;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Reads messages_json in the shape that is described at ChatRequest, and keeps one text at a time.
//
//   [ { "role": "user", "content": "text" or [ { "type": "text", "text": "text" } ] } ]
//   1 2                                      3 4
class MessageScales : public nlohmann::json_sax<Json> {
 public:
  explicit MessageScales(const Weighing& weighing) : weighing_(weighing) {}
  [[nodiscard]] std::int64_t total() const { return total_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool string(string_t& value) override {
    const bool field = depth_ == 2;
    if (field && key_ == "role") role_ = value;
    const bool content =
        (field && key_ == "content") || (in_parts_ && depth_ == 4 && key_ == "text");
    if (content) add_text(value);
    return true;
  }
  bool start_object(std::size_t /*elements*/) override {
    if (++depth_ == 2) begin_message();
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2) end_message();
    return true;
  }
  bool start_array(std::size_t /*elements*/) override {
    if (++depth_ == 3) in_parts_ = key_ == "content";
    return true;
  }
  bool end_array() override {
    if (depth_-- == 3) in_parts_ = false;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 2 || (in_parts_ && depth_ == 4)) key_ = value;
    return true;
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const Json::exception& /*why*/) override {
    total_ = 0;
    return false;
  }

 private:
  void begin_message() {
    role_.clear();
    text_tokens_ = 0;
    empty_ = true;
  }
  void add_text(std::string_view text) {
    const std::string_view inner = trimmed(text);
    text_tokens_ += weighing_.text_at_least(inner);
    empty_ = empty_ && inner.empty();
  }
  // The role may stand behind the content.
  void end_message() {
    const bool user = role_ == "user";
    if (user && weighing_.shows_users) total_ += text_tokens_;
    if (!empty_ && (user || role_ == "assistant")) total_ += weighing_.tokens_of_message;
  }

  const Weighing& weighing_;
  int depth_ = 0;
  bool in_parts_ = false;
  std::string key_;
  std::string role_;
  std::int64_t text_tokens_ = 0;
  bool empty_ = true;
  std::int64_t total_ = 0;
};

// "uau": a user's message, an assistant's and a user's, each of one word.
std::string conversation(std::string_view roles) {
  Json messages = Json::array();
  for (const char role : roles) {
    messages.push_back({{"role", role == 'u' ? "user" : "assistant"},
                        {"content", "probe-" + std::to_string(messages.size())}});
  }
  return messages.dump();
}

bool shows_users(const std::string& prompt) {
  return prompt.find("probe-0") != prompt.npos && prompt.find("probe-2") != prompt.npos &&
         prompt.find("probe-4") != prompt.npos;
}

}  // namespace

MessageFloor::MessageFloor(const Render& render, const CountControl& control_tokens) {
  const auto alternating = render(conversation("uauau"));
  shows_users_ = alternating && shows_users(*alternating);
  std::optional<std::int64_t> fewest;
  const std::pair<const char*, const char*> probes[] = {
      {"u", "uauau"}, {"u", "uuuuu"}, {"uau", "uaaaau"}};
  for (const auto& [roles, more_roles] : probes) {
    const auto some = render(conversation(roles));
    const auto more = render(conversation(more_roles));
    if (!some || !more) continue;
    const std::size_t added = std::string_view(more_roles).size() - std::string_view(roles).size();
    const std::int64_t each =
        (control_tokens(*more) - control_tokens(*some)) / static_cast<std::int64_t>(added);
    fewest = std::min(fewest.value_or(each), each);
  }
  tokens_of_message_ = std::max<std::int64_t>(0, fewest.value_or(0));
}

std::int64_t MessageFloor::tokens_at_least(const std::string& messages_json,
                                           const CountText& text_at_least) const {
  const Weighing weighing{text_at_least, shows_users_, tokens_of_message_};
  MessageScales scales(weighing);
  (void)Json::sax_parse(messages_json, &scales);
  return scales.total();
}

}  // namespace holdfast::llama
