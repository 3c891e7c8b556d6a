// FLOOR-1, for templates that treat messages in ways of their own.
#include "engine/llama/message_floor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

namespace holdfast::llama {
namespace {

using Json = nlohmann::ordered_json;

// A control token is '<' or '>', and every other letter is a token.
std::int64_t control_tokens(const std::string& prompt) {
  return std::ranges::count_if(prompt, [](char c) { return c == '<' || c == '>'; });
}
std::int64_t letters(std::string_view text) { return static_cast<std::int64_t>(text.size()); }

std::string text_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string all;
  for (const Json& part : content) all += part.at("text").get<std::string>();
  return all;
}

std::string trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

using Template = std::optional<std::string> (*)(const std::string&);

std::optional<std::string> plain(const std::string& messages) {
  std::string prompt;
  for (const Json& one : Json::parse(messages)) prompt += "<" + text_of(one.at("content")) + ">";
  return prompt;
}

// Trims, and leaves out empty messages and old answers.
std::optional<std::string> thrifty(const std::string& messages) {
  std::string prompt;
  for (const Json& one : Json::parse(messages)) {
    const std::string text = trim(text_of(one.at("content")));
    if (text.empty()) continue;
    prompt += one.at("role") == "assistant" ? "<>" : "<" + text + ">";
  }
  return prompt;
}

// Writes messages of the same role in a row as one.
std::optional<std::string> joining(const std::string& messages) {
  std::string prompt;
  std::string last;
  for (const Json& one : Json::parse(messages)) {
    const std::string role = one.at("role");
    if (role != last) prompt += "<";
    prompt += text_of(one.at("content"));
    last = role;
  }
  return prompt;
}

// Shows the latest message alone.
std::optional<std::string> forgetful(const std::string& messages) {
  return "<" + text_of(Json::parse(messages).back().at("content"));
}

std::optional<std::string> refusing(const std::string& /*messages*/) { return std::nullopt; }

Json random_message(std::mt19937& random) {
  const char* const roles[] = {"user", "assistant", "system", "tool"};
  const char* const texts[] = {"", " \n ", "word", "  a longer text ", "\\ \"quoted\""};
  const auto text = [&] { return texts[random() % std::size(texts)]; };
  Json message = {{"role", roles[random() % std::size(roles)]}};
  if (random() % 3 == 0) {
    message["content"] = {{{"type", "text"}, {"text", text()}},
                          {{"type", "text"}, {"text", text()}}};
  } else {
    message["content"] = text();
  }
  message["reasoning_content"] = text();
  message["tool_calls"] = {{{"function", {{"name", "content"}, {"arguments", "{\"text\": 1}"}}}}};
  return message;
}

TEST(MessageFloor, FLOOR1IsNeverMoreThanTheRenderedTokens) {
  constexpr unsigned kSeed = 7;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  for (const Template rendered : {plain, thrifty, joining, forgetful}) {
    const MessageFloor floor(rendered, control_tokens);
    for (int round = 0; round < 500; ++round) {
      Json messages = Json::array();
      for (std::size_t count = 1 + random() % 6; count > 0; --count)
        messages.push_back(random_message(random));
      const std::string json = messages.dump();
      EXPECT_LE(floor.tokens_at_least(json, letters), letters(*rendered(json))) << json;
    }
  }
}

TEST(MessageFloor, CountsTextOfUsersAndTheTokensAroundMessages) {
  const MessageFloor floor(plain, control_tokens);
  EXPECT_EQ(floor.tokens_of_message(), 2);
  EXPECT_EQ(floor.tokens_at_least(
                R"([{"content":" four ","role":"user"},{"role":"assistant","content":"not this"},
                    {"role":"user","content":[{"type":"text","text":"ab"},{"type":"text","text":"c"}]},
                    {"role":"user","content":""},{"role":"system","content":"nor this"}])",
                letters),
            4 + 2 + 2 + 3 + 2);
}

TEST(MessageFloor, ATemplateThatShowsLessMakesItSmaller) {
  const std::string messages = R"([{"role":"user","content":"ab"},{"role":"user","content":"c"}])";
  EXPECT_EQ(MessageFloor(joining, control_tokens).tokens_at_least(messages, letters), 3);
  EXPECT_EQ(MessageFloor(forgetful, control_tokens).tokens_at_least(messages, letters), 0);
  EXPECT_EQ(MessageFloor(refusing, control_tokens).tokens_at_least(messages, letters), 0);
  EXPECT_EQ(MessageFloor(plain, control_tokens).tokens_at_least("[{", letters), 0);
}

}  // namespace
}  // namespace holdfast::llama
