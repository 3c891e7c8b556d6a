#include "script.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace holdfast {
namespace {

constexpr std::string_view kAnswerHeader = "<|im_start|>assistant\n";
constexpr std::string_view kThoughtsBegin = "<think>\n";
constexpr const char* kThoughts = "This is in the script.\n</think>\n\n";
constexpr const char* kDefaultAnswer = "Done.";

ScriptedAnswer answer_of(const nlohmann::json& rule) {
  std::string text = rule.value("say", "");
  for (const nlohmann::json& call : rule.value("calls", nlohmann::json::array())) {
    if (!text.empty()) text += "\n";
    const nlohmann::ordered_json written{{"name", call.at("name")},
                                         {"arguments", call.at("arguments")}};
    text += "<tool_call>\n" + written.dump() + "\n</tool_call>";
  }
  return {text, rule.value("blank_tokens", std::size_t{0})};
}

bool holds(std::string_view text, const std::string& part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string_view said_since_last_answer(std::string_view prompt) {
  const std::size_t header = prompt.rfind(kAnswerHeader);
  if (header == std::string_view::npos || header == 0) return prompt;
  const std::size_t last_answer = prompt.rfind(kAnswerHeader, header - 1);
  if (last_answer == std::string_view::npos) return prompt.substr(0, header);
  const std::size_t end = prompt.find("<|im_end|>", last_answer);
  return end < header ? prompt.substr(end, header - end) : std::string_view{};
}

Result<Script> Script::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::kIo, "The script " + path + " cannot be read.", ""};
  try {
    const nlohmann::json parsed = nlohmann::json::parse(file);
    Script script;
    script.read_time_ = std::chrono::microseconds(parsed.value("read_us_per_token", 0));
    script.write_time_ = std::chrono::microseconds(parsed.value("write_us_per_step", 0));
    for (const nlohmann::json& rule : parsed.at("rules")) {
      script.rules_.push_back({rule.value("when", ""), rule.value("with", ""), answer_of(rule)});
    }
    return script;
  } catch (const nlohmann::json::exception& wrong) {
    return Error{ErrorCode::kInvalidArgument, "The script " + path + ": " + wrong.what(), ""};
  }
}

ScriptedAnswer Script::answer_to(std::string_view prompt) const {
  const std::string_view said = said_since_last_answer(prompt);
  const auto fits = [&](const ScriptRule& rule) {
    return holds(said, rule.when) && holds(prompt, rule.with);
  };
  const auto rule = std::ranges::find_if(rules_, fits);
  ScriptedAnswer answer = rule == rules_.end() ? ScriptedAnswer{kDefaultAnswer} : rule->answer;
  if (prompt.ends_with(kThoughtsBegin)) answer.text.insert(0, kThoughts);
  return answer;
}

}  // namespace holdfast
