#include "engine/system_turns.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace holdfast::engine {
namespace {

using Json = nlohmann::ordered_json;

// "role: text" of each message, one a line.
std::string listed(const std::string& messages_json) {
  std::string out;
  for (const Json& message : Json::parse(messages_json))
    out += message.at("role").get<std::string>() + ": " + message.at("content").get<std::string>() +
           "\n";
  return out;
}

const std::string kTalk =
    R"([{"role":"system","content":"a"},{"role":"system","content":"b"},
        {"role":"user","content":"c"},{"role":"system","content":"d"},
        {"role":"assistant","content":"e"},{"role":"system","content":"f"},
        {"role":"user","content":"g"}])";

std::string reminder(const std::string& text) {
  return "<system-reminder>\n" + text + "\n</system-reminder>";
}

TEST(SystemTurns, InPlaceChangesNothing) {
  EXPECT_EQ(with_system_turns(kTalk, SystemTurns::kInPlace), kTalk);
}

TEST(SystemTurns, ThoseAtTheFrontBecomeOneAndTheRestStayWhereTheyAre) {
  EXPECT_EQ(listed(with_system_turns(kTalk, SystemTurns::kAsUser)),
            "system: a\n\nb\nuser: c\nuser: " + reminder("d") +
                "\nassistant: e\nuser: " + reminder("f") + "\nuser: g\n");
}

TEST(SystemTurns, InsideUserMessagesRolesStillAlternate) {
  EXPECT_EQ(listed(with_system_turns(kTalk, SystemTurns::kInsideUser)),
            "system: a\n\nb\nuser: c\n\n" + reminder("d") +
                "\nassistant: e\nuser: " + reminder("f") + "\n\ng\n");
}

TEST(SystemTurns, WhereRolesAlternateUserMessagesInARowAreOne) {
  const std::string twice =
      R"([{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b"}]},
          {"role":"system","content":"c"},{"role":"user","content":"d"}])";
  EXPECT_EQ(listed(with_system_turns(twice, SystemTurns::kInsideUser)),
            "user: a\n\nb\n\n" + reminder("c") + "\n\nd\n");
  EXPECT_EQ(Json::parse(with_system_turns(twice, SystemTurns::kAsUser)).size(), 4U);
}

TEST(SystemTurns, OneThatNoUserMessageFollowsIsAUserMessage) {
  const std::string last =
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},
          {"role":"system","content":"c"}])";
  const std::string expected = "user: a\nassistant: b\nuser: " + reminder("c") + "\n";
  EXPECT_EQ(listed(with_system_turns(last, SystemTurns::kAsUser)), expected);
  EXPECT_EQ(listed(with_system_turns(last, SystemTurns::kInsideUser)), expected);
}

TEST(SystemTurns, PartsAndOtherFieldsAreKept) {
  const std::string parts =
      R"([{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},
          {"role":"assistant","content":"","tool_calls":[{"id":"1"}]},
          {"role":"system","content":[{"type":"text","text":"p"},{"type":"text","text":"q"}]}])";
  const Json turned = Json::parse(with_system_turns(parts, SystemTurns::kAsUser));
  EXPECT_EQ(turned[0]["content"].size(), 2U);
  EXPECT_EQ(turned[1]["tool_calls"][0]["id"], "1");
  EXPECT_EQ(turned[2]["content"], reminder("p\n\nq"));
}

// A template that takes what `takes` says, and writes it one message a line.
SystemTurns found(const std::function<bool(const Json&)>& takes) {
  return system_turns_of([&](const std::string& messages) -> std::optional<std::string> {
    if (!takes(Json::parse(messages))) return std::nullopt;
    return listed(messages);
  });
}

TEST(SystemTurns, ATemplateIsTriedOnce) {
  EXPECT_EQ(found([](const Json&) { return true; }), SystemTurns::kInPlace);
  EXPECT_EQ(found([](const Json& messages) { return messages[2]["role"] != "system"; }),
            SystemTurns::kAsUser);
  EXPECT_EQ(
      found([](const Json& messages) {
        for (std::size_t i = 1; i < messages.size(); ++i)
          if (messages[i]["role"] == "system" || messages[i]["role"] == messages[i - 1]["role"])
            return false;
        return true;
      }),
      SystemTurns::kInsideUser);
  EXPECT_EQ(found([](const Json&) { return false; }), SystemTurns::kAsUser);
}

TEST(SystemTurns, ATemplateThatMovesOrDropsThemDoesNotTakeThem) {
  const auto moves = [](const std::string& messages) -> std::optional<std::string> {
    std::string front;
    std::string rest;
    for (const Json& message : Json::parse(messages))
      (message["role"] == "system" ? front : rest) += message["content"].get<std::string>() + "\n";
    return front + rest;
  };
  EXPECT_EQ(system_turns_of(moves), SystemTurns::kAsUser);
}

}  // namespace
}  // namespace holdfast::engine
