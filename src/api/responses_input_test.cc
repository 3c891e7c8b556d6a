#include "api/responses_input.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace holdfast::api {
namespace {

// The messages that an array of items becomes, or what is wrong with it.
std::string messages_of(const std::string& items, const std::string& instructions = "") {
  const Json body = {{"input", *parse_json(items)}};
  FirstError error;
  const JsonFields fields(body, "", error);
  InputMessages messages;
  if (!instructions.empty()) messages.add_instructions(instructions);
  for (std::size_t i = 0; i < body["input"].size() && error.empty(); ++i)
    messages.add_item(*fields.element(body["input"], "input", i));
  return error.empty() ? messages_json(messages.take()) : "error: " + error.get().message;
}

const std::string kUser = R"({"role":"user","content":"hi"})";
const std::string kOut = R"({"type":"function_call_output","call_id":"c1","output":"4"})";

std::string call(const std::string& id) {
  return R"({"type":"function_call","call_id":")" + id + R"(","name":"f","arguments":"{\"a\":1}"})";
}
std::string called(const std::string& id) {
  return R"({"id":")" + id +
         R"(","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}})";
}

TEST(ResponsesInput, MessagesNeedNoTypeAndTakeTextOrParts) {
  EXPECT_EQ(messages_of("[" + kUser + "]"), "[" + kUser + "]");
  EXPECT_EQ(
      messages_of(
          R"([{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}])"),
      "[" + kUser + "]");
  EXPECT_EQ(
      messages_of(R"([{"role":"user","content":[{"type":"input_text","text":"a"},
                             {"type":"input_text","text":"b"}]}])"),
      R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])");
  EXPECT_EQ(messages_of(R"([{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}])"),
            R"([{"role":"assistant","content":"no"}])");
}

TEST(ResponsesInput, TheOpeningIsOneSystemMessageAndLaterOnesStayInPlace) {
  EXPECT_EQ(
      messages_of(R"([{"role":"developer","content":"two"},{"role":"system","content":"three"},)" +
                      kUser + R"(,{"role":"developer","content":"four"}])",
                  "one"),
      R"([{"role":"system","content":"one\n\ntwo\n\nthree"},)" + kUser +
          R"(,{"role":"system","content":"four"}])");
}

TEST(ResponsesInput, Input1OneTurnIsOneMessage) {
  EXPECT_EQ(
      messages_of(
          "[" + kUser +
          R"(,{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
                            {"role":"assistant","content":"Let me see."},)" +
          call("c1") + "," + call("c2") + "," + kOut + "]"),
      "[" + kUser +
          R"(,{"role":"assistant","content":"Let me see.","reasoning_content":"hm","tool_calls":[)" +
          called("c1") + "," + called("c2") +
          R"(]},{"role":"tool","content":"4","tool_call_id":"c1"}])");
}

TEST(ResponsesInput, Input1TextAfterACallGoesOn) {
  EXPECT_EQ(messages_of(R"([{"role":"assistant","content":"a"},)" + call("c1") +
                        R"(,{"role":"assistant","content":"b"}])"),
            R"([{"role":"assistant","content":"ab","tool_calls":[)" + called("c1") + "]}]");
}

TEST(ResponsesInput, Input2WhereATurnEnds) {
  EXPECT_EQ(
      messages_of(R"([{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}])"),
      R"([{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}])");
  const std::string thought =
      R"({"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}]})";
  EXPECT_EQ(
      messages_of(R"([{"role":"assistant","content":"a"},)" + thought + "," + call("c1") + "]"),
      R"([{"role":"assistant","content":"a"},{"role":"assistant","content":"","reasoning_content":"t","tool_calls":[)" +
          called("c1") + "]}]");
  EXPECT_EQ(
      messages_of("[" + call("c1") + "," + kOut + "," + call("c2") + "]"),
      R"([{"role":"assistant","content":"","tool_calls":[)" + called("c1") +
          R"(]},{"role":"tool","content":"4","tool_call_id":"c1"},{"role":"assistant","content":"","tool_calls":[)" +
          called("c2") + "]}]");
}

TEST(ResponsesInput, ReasoningIsReadFromContentElseFromItsSummary) {
  const auto thoughts = [](const std::string& fields) {
    return messages_of(R"([{"type":"reasoning","id":"rs_1",)" + fields +
                       R"(},{"role":"assistant","content":"x"}])");
  };
  const std::string none = R"([{"role":"assistant","content":"x"}])";
  EXPECT_EQ(thoughts(R"("summary":null,"content":null,"encrypted_content":"abc")"), none);
  EXPECT_EQ(thoughts(R"("summary":[],"content":[])"), none);
  EXPECT_EQ(thoughts(R"("summary":[{"type":"summary_text","text":"s"}],"content":null)"),
            R"([{"role":"assistant","content":"x","reasoning_content":"s"}])");
  EXPECT_EQ(thoughts(R"("summary":[{"type":"summary_text","text":"s"}],
                        "content":[{"type":"reasoning_text","text":"t"}])"),
            R"([{"role":"assistant","content":"x","reasoning_content":"t"}])");
}

TEST(ResponsesInput, ACustomToolIsAFunctionWithOneTextArgument) {
  EXPECT_EQ(
      messages_of(
          R"([{"type":"custom_tool_call","call_id":"c","name":"patch","input":"a \"b\""},
              {"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"ok"}]}])"),
      R"([{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"patch","arguments":"{\"input\":\"a \\\"b\\\"\"}"}}]},)"
      R"({"role":"tool","content":"ok","tool_call_id":"c"}])");
}

TEST(ResponsesInput, AToolThatLookedAtAnImageDoesNotEndTheConversation) {
  EXPECT_EQ(
      messages_of(
          R"([{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:,"}]}])"),
      R"x([{"role":"tool","content":"(An image. This model reads text only.)","tool_call_id":"c"}])x");
}

TEST(ResponsesInput, BrokenArgumentsDoNotBreakTheConversation) {
  EXPECT_EQ(
      messages_of(R"([{"type":"function_call","call_id":"c","name":"f","arguments":"{oops"}])"),
      R"([{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"raw_arguments\":\"{oops\"}"}}]}])");
}

TEST(ResponsesInput, Input3ItemsThatOthersRunAreSkipped) {
  for (const char* type : {"web_search_call", "local_shell_call", "local_shell_call_output",
                           "tool_search_call", "tool_search_output", "compaction", "agent_message",
                           "additional_tools", "image_generation_call", "from_the_future"}) {
    const std::string item = std::string(R"({"type":")") + type +
                             R"(","call_id":"z","content":"secret","tools":[],"name":1})";
    EXPECT_EQ(messages_of("[" + kUser + "," + item + "]"), "[" + kUser + "]") << type;
  }
}

TEST(ResponsesInput, MistakesAreNamed) {
  const auto expect = [](const std::string& item, const std::string& part) {
    const std::string said = messages_of("[" + kUser + "," + item + "]");
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  expect(R"({"role":"user","content":[{"type":"input_text","text":"a"},
             {"type":"input_image","image_url":"data:image/png;base64,AA=="}]})",
         "input[1].content[1].type");
  expect(R"({"type":"function_call_output","call_id":"c","output":[{"type":"input_audio"}]})",
         "input[1].output[0].type");
  expect(R"({"content":"x"})", "input[1].type");
  expect(R"({"role":"robot","content":"x"})", "input[1].role");
  expect(R"({"role":"user"})", "input[1].content");
  expect(R"({"role":"user","content":7})", "input[1].content");
  expect(R"({"type":"function_call","name":"f","arguments":"{}"})", "input[1].call_id");
  expect(R"({"type":"function_call","call_id":"c","arguments":"{}"})", "input[1].name");
  expect(R"({"type":"function_call_output","call_id":"c"})", "input[1].output");
  expect(R"({"type":"custom_tool_call","call_id":"c","name":"f"})", "input[1].input");
  expect(R"({"type":"item_reference"})", "input[1].id");
}

}  // namespace
}  // namespace holdfast::api
