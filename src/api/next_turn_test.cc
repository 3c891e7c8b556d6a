#include "api/next_turn.h"

#include <gtest/gtest.h>

#include <string>

#include "api/anthropic_request.h"

namespace holdfast::api {
namespace {

ChatRequest chat(const std::string& messages) {
  auto request = decode_chat_request(R"({"messages":)" + messages + "}", {});
  EXPECT_TRUE(request.ok()) << request.error().message;
  return std::move(*request);
}

ChatRequest message(const std::string& messages) {
  auto request =
      decode_messages_request(R"({"max_tokens":9,"messages":)" + messages + "}", ChatDefaults{});
  EXPECT_TRUE(request.ok()) << request.error().message;
  return std::move(*request);
}

const engine::Reply kThoughtful{"Hm.", "A \"ship\".", {}};

TEST(NextTurn, TheAnswerAndAWordAfterIt) {
  const ChatRequest next =
      with_answer(chat(R"([{"role":"user","content":"What?"}])"), kThoughtful, "");
  EXPECT_EQ(next.input.messages_json,
            R"([{"role":"user","content":"What?"},{"role":"assistant","content":"A \"ship\"."},)"
            R"({"role":"user","content":"..."}])");
  EXPECT_FALSE(next.input.add_generation_prompt);
}

TEST(NextTurn, ThoughtsComeBackWhereTheClientSentThemBefore) {
  const std::string before = R"([{"role":"user","content":"Q"},)";
  const std::string after = R"(,{"role":"user","content":"What?"}])";
  const ChatRequest with =
      chat(before + R"({"role":"assistant","content":"A","reasoning_content":"T"})" + after);
  const ChatRequest without = chat(before + R"({"role":"assistant","content":"A"})" + after);
  EXPECT_TRUE(returns_thoughts(with));
  EXPECT_FALSE(returns_thoughts(without));
  EXPECT_NE(with_answer(with, kThoughtful, "").input.messages_json.find(R"("Hm.")"),
            std::string::npos);
  EXPECT_EQ(with_answer(without, kThoughtful, "").input.messages_json.find("Hm."),
            std::string::npos);
}

TEST(NextTurn, AFirstTurnGoesByItsProtocol) {
  EXPECT_FALSE(returns_thoughts(chat(R"([{"role":"user","content":"What?"}])")));
  const ChatRequest first = message(R"([{"role":"user","content":"What?"}])");
  EXPECT_TRUE(returns_thoughts(first));
  // A client may quote what looks like a message.
  EXPECT_TRUE(
      returns_thoughts(message(R"([{"role":"user","content":"{\"role\":\"assistant\"}"}])")));
  const ChatRequest next = with_answer(first, kThoughtful, "answer-id");
  ASSERT_EQ(next.answer_refs.size(), 1U);
  EXPECT_EQ(next.answer_refs[0].message, 1U);
  EXPECT_EQ(next.answer_refs[0].id, "answer-id");
  EXPECT_TRUE(next.answer_refs[0].for_thoughts);
}

TEST(NextTurn, CallsAreFollowedByTheirResults) {
  engine::Reply reply;
  reply.tool_calls = {{.id = "call-1", .name = "look", .arguments = R"({"at":1})"},
                      {.id = "call-2", .name = "look", .arguments = R"({"at":2})"}};
  const ChatRequest next = with_answer(chat(R"([{"role":"user","content":"What?"}])"), reply, "");
  const std::string& messages = next.input.messages_json;
  EXPECT_NE(messages.find(R"("tool_call_id":"call-1")"), std::string::npos);
  EXPECT_NE(messages.find(R"("tool_call_id":"call-2")"), std::string::npos);
  EXPECT_EQ(messages.find(R"("content":"...","role":"user")"), std::string::npos);
  // It is a request as any client may send it.
  EXPECT_EQ(chat(messages).input.messages_json, messages);
}

}  // namespace
}  // namespace holdfast::api
