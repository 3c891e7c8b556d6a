#include "cli/exact_talk.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/chat_json.h"
#include "cli/exact_frozen.h"
#include "cli/exact_text.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

constexpr TokenPos kContext = 8192;

ExactAnswer answer(const std::string& content, TokenPos prompt, TokenPos restored = 0,
                   TokenPos prewarmed = 0) {
  return {
      .prompt_tokens = prompt,
      .restored = restored,
      .prewarmed = prewarmed,
      .restored_from = restored == 0 ? "nothing" : "memory",
      .message = {{"role", "assistant"}, {"content", content}, {"reasoning_content", "thoughts"}}};
}

TalkScript script(std::vector<TalkStep> steps = {}) {
  return {.seed = 5,
          .opening = Json::array({{{"role", "system"}, {"content", "s"}}}),
          .settings = Json::object(),
          .steps = std::move(steps)};
}

TalkStep step(TalkMove move, std::string text = "x", std::size_t where = 0) {
  return {.move = move, .texts = {std::move(text)}, .where = where};
}

std::string reuse(const ScriptedTalk& talk, const ExactAnswer& one, int patience_ms = 0) {
  TalkStep asked = step(TalkMove::kTurn);
  asked.patience_ms = patience_ms;
  return talk.reuse_of({one}, asked).front();
}

// "s / u:hello / a:yes"
std::string shape(const Json& request) {
  std::string text;
  for (const Json& message : request["messages"]) {
    if (!text.empty()) text += " / ";
    text += text_at(message, "role").substr(0, 1) + ":" + text_at(message, "content");
  }
  return text;
}

// --- scripts ----------------------------------------------------------------------

TEST(TalkScripts, FollowFromSeedAndNumber) {
  const TalkScript first = make_script(3, 4, kContext);
  const TalkScript again = make_script(3, 4, kContext);
  EXPECT_EQ(first.opening, again.opening);
  EXPECT_EQ(first.settings, again.settings);
  ASSERT_EQ(first.steps.size(), again.steps.size());
  for (std::size_t i = 0; i < first.steps.size(); ++i)
    EXPECT_EQ(first.steps[i].texts, again.steps[i].texts);
  EXPECT_NE(make_script(3, 5, kContext).steps.front().texts, first.steps.front().texts);
  EXPECT_NE(make_script(4, 4, kContext).steps.front().texts, first.steps.front().texts);
}

TEST(TalkScripts, MakeEveryMoveAndShareTheirOpenings) {
  std::set<TalkMove> moves;
  std::set<std::string> openings;
  int tools = 0;
  int thoughts = 0;
  for (std::uint64_t number = 0; number < 60; ++number) {
    const TalkScript one = make_script(1, number, kContext);
    for (const TalkStep& made : one.steps) moves.insert(made.move);
    openings.insert(one.opening.dump());
    tools += one.settings.contains("tools") ? 1 : 0;
    thoughts += one.sends_thoughts ? 1 : 0;
  }
  EXPECT_EQ(moves.size(), static_cast<std::size_t>(kTalkMoveLast) + 1);
  EXPECT_LE(openings.size(), 5U);
  EXPECT_GT(tools, 5);
  EXPECT_GT(thoughts, 5);
  EXPECT_LT(thoughts, 55);
}

// --- talks ------------------------------------------------------------------------

TEST(ScriptedTalk, HistoryIsWhatTheRunningServerAnswered) {
  ScriptedTalk talk(script());
  EXPECT_EQ(shape(talk.ask(step(TalkMove::kTurn, "one")).front()), "s:s / u:one");
  talk.take({answer("yes", 10)}, step(TalkMove::kTurn));
  const Json second = talk.ask(step(TalkMove::kTurn, "two")).front();
  EXPECT_EQ(shape(second), "s:s / u:one / a:yes / u:two");
  EXPECT_FALSE(second["messages"][2].contains("reasoning_content"));
  EXPECT_EQ(second["temperature"], 0);
  EXPECT_EQ(second["cache_receipt"], true);
}

TEST(ScriptedTalk, ThoughtsAreSentBackWhereTheScriptSaysSo) {
  TalkScript with = script();
  with.sends_thoughts = true;
  ScriptedTalk talk(with);
  (void)talk.ask(step(TalkMove::kTurn, "one"));
  talk.take({answer("yes", 10)}, step(TalkMove::kTurn));
  const Json second = talk.ask(step(TalkMove::kTurn, "two")).front();
  EXPECT_EQ(text_at(second["messages"][2], "reasoning_content"), "thoughts");
}

TEST(ScriptedTalk, EveryMove) {
  ScriptedTalk talk(script());
  const auto ask = [&](const TalkStep& one) { return shape(talk.ask(one).front()); };
  ask(step(TalkMove::kTurn, "one"));
  talk.take({answer("A", 10)}, step(TalkMove::kTurn));
  EXPECT_EQ(ask(step(TalkMove::kAgain, "ignored")), "s:s / u:one");
  talk.take({answer("A", 10)}, step(TalkMove::kTurn));
  ask(step(TalkMove::kTurn, "two"));
  talk.take({answer("B", 20)}, step(TalkMove::kTurn));
  EXPECT_EQ(ask(step(TalkMove::kBranch, "other", 0)), "s:s / u:one / a:A / u:other");
  talk.take({answer("C", 20)}, step(TalkMove::kTurn));
  EXPECT_EQ(ask(step(TalkMove::kReturn, "back")), "s:s / u:one / a:A / u:two / a:B / u:back");
  talk.take({answer("D", 30)}, step(TalkMove::kTurn));
  EXPECT_EQ(ask(step(TalkMove::kEdit, "new", 1)), "s:s / u:one / a:A / u:new");
}

TEST(ScriptedTalk, AFanOutHasOneHistory) {
  ScriptedTalk talk(script());
  TalkStep fan = step(TalkMove::kFanOut, "a");
  fan.texts = {"a", "b", "c"};
  const auto requests = talk.ask(fan);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(shape(requests[0]), "s:s / u:a");
  EXPECT_EQ(shape(requests[2]), "s:s / u:c");
  talk.take({answer("A", 10), answer("B", 10), answer("C", 10)}, step(TalkMove::kTurn));
  EXPECT_EQ(shape(talk.ask(step(TalkMove::kTurn, "d")).front()), "s:s / u:a / a:A / u:d");
}

TEST(ScriptedTalk, CallsAreFollowedByTheirResults) {
  TalkScript with = script();
  with.settings["tools"] = Json::array();
  ScriptedTalk talk(with);
  TalkStep forced = step(TalkMove::kTurn, "go");
  forced.calls = true;
  EXPECT_EQ(talk.ask(forced).front()["tool_choice"], "required");
  ExactAnswer called = answer("", 10);
  called.message["tool_calls"] = Json::array({{{"id", "c1"}, {"function", Json::object()}}});
  talk.take({called}, step(TalkMove::kTurn));
  const Json next = talk.ask(step(TalkMove::kTurn, "not said")).front();
  ASSERT_EQ(next["messages"].size(), 4U) << shape(next);
  EXPECT_EQ(text_at(next["messages"][3], "tool_call_id"), "c1");
}

// --- what was reused --------------------------------------------------------------

// An answer from token 100 on, and a request that reuses more than its prompt.
TEST(ScriptedTalk, StatesOfAnUnreadAnswerAreDecoded) {
  ScriptedTalk talk(script());
  (void)talk.ask(step(TalkMove::kTurn));
  talk.take({answer("A", 100)}, step(TalkMove::kTurn));
  (void)talk.ask(step(TalkMove::kTurn));
  EXPECT_EQ(reuse(talk, answer("", 130, 0)), "nothing");
  EXPECT_EQ(reuse(talk, answer("", 130, 96)), "memory");
  EXPECT_EQ(reuse(talk, answer("", 130, 120)), "decoded");
  EXPECT_EQ(reuse(talk, answer("", 130, 120, 24)), "pre-warmed");
  EXPECT_EQ(reuse(talk, answer("", 130, 120, 10)), "decoded") << "10 of 20 were read ahead";
  EXPECT_EQ(reuse(talk, answer("", 130, 120), 50), "resumed") << "its client had left before";
  TalkStep given_up = step(TalkMove::kGivenUp);
  given_up.patience_ms = 50;
  talk.take({answer("B", 130, 120)}, given_up);
  (void)talk.ask(step(TalkMove::kTurn));
  EXPECT_EQ(reuse(talk, answer("", 160, 128)), "memory") << "the first answer may have been read";
}

// The first of the choices reads what the others then begin with.
TEST(ScriptedTalk, WhatOneOfAStepReadsIsReadForAll) {
  ScriptedTalk talk(script());
  (void)talk.ask(step(TalkMove::kTurn));
  talk.take({answer("A", 100)}, step(TalkMove::kTurn));
  const TalkStep several = step(TalkMove::kSeveral);
  (void)talk.ask(several);
  const std::vector<ExactAnswer> both = {answer("", 130, 96), answer("", 130, 130)};
  EXPECT_EQ(talk.reuse_of(both, several), (std::vector<std::string>{"memory", "memory"}));
  const std::vector<ExactAnswer> decoded = {answer("", 130, 120), answer("", 130, 130)};
  EXPECT_EQ(talk.reuse_of(decoded, several), (std::vector<std::string>{"decoded", "decoded"}));
}

// Nobody knows how it came about.
TEST(ScriptedTalk, WhatComesFromDiskIsCalledThat) {
  ScriptedTalk talk(script());
  (void)talk.ask(step(TalkMove::kTurn));
  talk.take({answer("A", 100)}, step(TalkMove::kTurn));
  (void)talk.ask(step(TalkMove::kTurn));
  ExactAnswer from_disk = answer("B", 130, 120);
  from_disk.restored_from = "disk";
  EXPECT_EQ(reuse(talk, from_disk), "disk");
  talk.take({from_disk}, step(TalkMove::kTurn));
  (void)talk.ask(step(TalkMove::kTurn));
  EXPECT_EQ(reuse(talk, answer("", 160, 128)), "memory");
}

TEST(ScriptedTalk, AnAnswerThatWasReadOnceIsNotDecoded) {
  ScriptedTalk talk(script());
  (void)talk.ask(step(TalkMove::kTurn));
  talk.take({answer("A", 100)}, step(TalkMove::kTurn));
  (void)talk.ask(step(TalkMove::kTurn));
  talk.take({answer("B", 130, 96)}, step(TalkMove::kTurn));  // reads the first answer
  (void)talk.ask(step(TalkMove::kTurn));
  EXPECT_EQ(reuse(talk, answer("", 160, 128)), "memory");
  EXPECT_EQ(reuse(talk, answer("", 160, 140)), "decoded") << "the second answer";
}

TEST(ScriptedTalk, ASlotsOwnStateHasOneName) {
  ExactAnswer one = answer("", 10, 5);
  one.restored_from = "snapshot in place";
  EXPECT_EQ(source_of(one), "live slot");
}

// --- frozen requests --------------------------------------------------------------

TEST(NeedleLadder, HidesOneFactInEachTextAndAsksForIt) {
  const auto ladder = needle_ladder(7, 4000);
  ASSERT_EQ(ladder.size(), kNeedles);
  std::size_t longest = 0;
  std::set<std::string> needles;
  for (const FrozenRequest& one : ladder) {
    const std::string content = text_at(one.body["messages"][0], "content");
    EXPECT_NE(content.find(" is " + one.needle + "."), std::string::npos) << one.where;
    EXPECT_TRUE(content.ends_with("?"));
    longest = std::max(longest, content.size());
    needles.insert(one.needle);
  }
  EXPECT_GT(needles.size(), kNeedles - 3);
  EXPECT_GT(longest, 4000U * 3) << "about as many tokens as asked for";
  EXPECT_EQ(needle_ladder(7, 4000).back().body, ladder.back().body);
}

TEST(Conversations, ABadLineIsNamed) {
  const std::string path = ::testing::TempDir() + "/exact_conversations.jsonl";
  const auto write = [&](const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::fputs(text.c_str(), file);
    std::fclose(file);
  };
  write("{\"messages\": [], \"stream\": true, \"temperature\": 1}\n\n{\"messages\": []}\n");
  const auto good = read_conversations(path);
  ASSERT_TRUE(good);
  ASSERT_EQ(good->size(), 2U);
  EXPECT_EQ((*good)[0].body["stream"], false);
  EXPECT_EQ((*good)[0].body["temperature"], 0);
  EXPECT_EQ((*good)[1].where, "line 3");
  write("{\"messages\": []}\n{\"prompt\": \"x\"}\n");
  const auto bad = read_conversations(path);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("line 2: no field `messages`"), std::string::npos);
  EXPECT_FALSE(read_conversations(path + "/none"));
}

}  // namespace
}  // namespace holdfast::cli
