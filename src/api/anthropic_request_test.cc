#include "api/anthropic_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

ChatRequest decoded(const std::string& json, const ChatDefaults& defaults = {}) {
  auto request = decode_messages_request(json, defaults);
  EXPECT_TRUE(request.ok()) << (request.ok() ? "" : request.error().message) << '\n' << json;
  return request.ok() ? std::move(*request) : ChatRequest{};
}

Error refused(const std::string& json) {
  const auto request = decode_messages_request(json, {});
  EXPECT_FALSE(request.ok()) << json;
  return request.ok() ? Error{} : request.error();
}

std::string messages_of(const std::string& json, const ChatDefaults& defaults = {}) {
  return decoded(json, defaults).input.messages_json;
}

// A request whose messages are `messages`.
std::string with_messages(const std::string& messages, const std::string& more = "") {
  return R"({"model":"m","max_tokens":9,"messages":)" + messages + more + "}";
}
std::string with_field(const std::string& field) {
  return with_messages(R"([{"role":"user","content":"hi"}])", "," + field);
}

TEST(AnthropicRequest, SystemComesFirstAsTextOrBlocks) {
  EXPECT_EQ(messages_of(with_field(R"("system":"Be brief.")")),
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}])");
  EXPECT_EQ(
      messages_of(with_field(
          R"("system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},
                             {"type":"text","text":"b"}])")),
      R"([{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
      R"({"role":"user","content":"hi"}])");
  EXPECT_EQ(messages_of(with_field(R"("system":[])")), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(refused(with_field(R"("system":7)")).param, "system");
}

TEST(AnthropicRequest, CacheControlIsSeenWhereItMarksSomething) {
  const std::string mark = R"("cache_control":{"type":"ephemeral"})";
  const auto marks = [](const std::string& json) { return decoded(json).options.marks_caching; };
  const auto said = [](const std::string& block) {
    return with_messages(R"([{"role":"user","content":[)" + block + "]}]");
  };
  const auto tool = [](const std::string& more) {
    return with_field(R"("tools":[{"name":"a","input_schema":{"type":"object","properties":{)" +
                      more);
  };
  EXPECT_TRUE(marks(with_field(mark)));
  EXPECT_TRUE(marks(with_field(R"("system":[{"type":"text","text":"a",)" + mark + "}]")));
  EXPECT_TRUE(marks(said(R"({"type":"text","text":"a",)" + mark + "}")));
  EXPECT_TRUE(marks(tool("}}," + mark + "}]")));
  EXPECT_TRUE(marks(with_messages(
      R"([{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t",
          "name":"a","input":{}}]},{"role":"user","content":[{"type":"tool_result",
          "tool_use_id":"t","content":[{"type":"text","text":"b",)" +
      mark + "}]}]}]")));
  EXPECT_FALSE(marks(with_field(R"("cache_control":null)")));
  EXPECT_FALSE(marks(said(R"({"type":"text","text":"cache_control"})")));
  EXPECT_FALSE(marks(tool(mark + "}}}]"))) << "a tool's own parameter";
}

TEST(AnthropicRequest, TheAttributionLineIsTakenOut) {
  const std::string blocks = with_field(
      R"("system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2; cch=0ab1c;"},
                   {"type":"text","text":"You help."}])");
  const std::string line =
      with_field(R"("system":"x-anthropic-billing-header: cc_version=2;\nYou help.")");
  const std::string without =
      R"([{"role":"system","content":"You help."},{"role":"user","content":"hi"}])";
  EXPECT_EQ(messages_of(blocks), without);
  EXPECT_EQ(messages_of(line), without);
  const ChatDefaults keep{.keep_attribution = true};
  EXPECT_NE(messages_of(blocks, keep).find("cch=0ab1c"), std::string::npos);
  EXPECT_NE(messages_of(line, keep).find("cc_version=2"), std::string::npos);
  // Only the first line of the first block, and only that header.
  EXPECT_NE(messages_of(with_field(R"("system":"You help.\nx-anthropic-billing-header: 1")"))
                .find("billing"),
            std::string::npos);
}

TEST(AnthropicRequest, SystemMessagesStayAtTheirPlace) {
  EXPECT_EQ(messages_of(with_messages(R"([{"role":"user","content":"a"},
                                          {"role":"system","content":[{"type":"text","text":"s"}]},
                                          {"role":"user","content":"b"}])")),
            R"([{"role":"user","content":"a"},{"role":"system","content":"s"},)"
            R"({"role":"user","content":"b"}])");
}

TEST(AnthropicRequest, AnAssistantsBlocksBecomeOneMessage) {
  EXPECT_EQ(messages_of(with_messages(
                R"([{"role":"user","content":"a"},
                    {"role":"assistant","content":[
                      {"type":"thinking","thinking":"Hm.","signature":"x"},
                      {"type":"redacted_thinking","data":"zzz"},
                      {"type":"text","text":"One, "},{"type":"text","text":"two."},
                      {"type":"server_tool_use","id":"s","name":"web_search","input":{}},
                      {"type":"tool_use","id":"t1","name":"look","input":{"b":1,"a":[2]}}]},
                    {"role":"user","content":[
                      {"type":"tool_result","tool_use_id":"t1","content":"seen"}]}])")),
            R"([{"role":"user","content":"a"},)"
            R"({"role":"assistant","content":"One, two.","reasoning_content":"Hm.","tool_calls":)"
            R"([{"id":"t1","type":"function","function":{"name":"look","arguments":)"
            R"("{\"b\":1,\"a\":[2]}"}}]},)"
            R"({"role":"tool","content":"seen","tool_call_id":"t1"}])");
}

// The message that a tool_result with these fields becomes.
Json tool_message(const std::string& fields) {
  const std::string json = messages_of(with_messages(
      R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"t")" + fields + "}]}]"));
  return Json::parse(json).at(0);
}

TEST(AnthropicRequest, ToolResultsComeInEveryShape) {
  EXPECT_EQ(tool_message("")["content"], "");
  EXPECT_EQ(tool_message(R"(,"content":"text")")["content"], "text");
  EXPECT_EQ(tool_message(R"(,"content":[{"type":"text","text":"text"}])")["content"], "text");
  EXPECT_EQ(tool_message(R"(,"content":[])")["content"], "");
  EXPECT_EQ(tool_message(
                R"(,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}])")["content"]
                .size(),
            2U);
  EXPECT_EQ(tool_message(R"(,"is_error":true,"content":"no such file")")["content"],
            "Error: no such file");
  EXPECT_EQ(
      tool_message(R"(,"is_error":true,"content":"<tool_use_error>x</tool_use_error>")")["content"],
      "<tool_use_error>x</tool_use_error>");
  EXPECT_EQ(tool_message(R"(,"is_error":true)")["content"], "Error");
  EXPECT_EQ(tool_message(R"(,"content":[{"type":"tool_reference","tool_name":"grep"}])")["content"],
            "grep");
  EXPECT_EQ(tool_message(R"(,"content":[{"type":"search_result","source":"u","title":"t",
                             "content":[{"type":"text","text":"x"}]}])")["content"],
            "t\nu\nx");
}

TEST(AnthropicRequest, TextAndToolResultsKeepTheirOrder) {
  EXPECT_EQ(messages_of(with_messages(
                R"([{"role":"user","content":[
                     {"type":"tool_result","tool_use_id":"t1","content":"1"},
                     {"type":"tool_result","tool_use_id":"t2","content":"2"},
                     {"type":"text","text":"a"},{"type":"text","text":"b"},
                     {"type":"tool_result","tool_use_id":"t3","content":"3"},
                     {"type":"text","text":"c"}]}])")),
            R"([{"role":"tool","content":"1","tool_call_id":"t1"},)"
            R"({"role":"tool","content":"2","tool_call_id":"t2"},)"
            R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
            R"({"role":"tool","content":"3","tool_call_id":"t3"},{"role":"user","content":"c"}])");
}

TEST(AnthropicRequest, ImagesAndFilesAreRefusedByTheirPlace) {
  const Error image = refused(with_messages(
      R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{}}]}])"));
  EXPECT_EQ(image.param, "messages[0].content[1].type");
  EXPECT_NE(image.message.find("image"), std::string::npos);
  EXPECT_EQ(refused(with_messages(
                        R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"t",
                     "content":[{"type":"image","source":{}}]}]}])"))
                .param,
            "messages[0].content[0].content[0].type");
  EXPECT_EQ(refused(with_messages(R"([{"role":"user","content":[{"type":"document","source":
                     {"type":"base64","media_type":"application/pdf","data":"JVBE"}}]}])"))
                .param,
            "messages[0].content[0].source.type");
  EXPECT_EQ(messages_of(with_messages(R"([{"role":"user","content":[{"type":"document","title":"T",
                     "source":{"type":"text","media_type":"text/plain","data":"D"}}]}])")),
            R"([{"role":"user","content":"T\nD"}])");
}

TEST(AnthropicRequest, AFinalAssistantMessageIsContinued) {
  const auto prefilled = decoded(with_messages(
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"The answer is"}])"));
  EXPECT_TRUE(prefilled.input.continue_final_message && !prefilled.input.add_generation_prompt);
  const auto asked = decoded(with_field(R"("stream":true)"));
  EXPECT_TRUE(!asked.input.continue_final_message && asked.input.add_generation_prompt);
  EXPECT_EQ(refused(with_messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":
                     [{"type":"tool_use","id":"t","name":"n","input":{}}]}])"))
                .param,
            "messages");
}

const std::string kTools =
    R"("tools":[{"name":"look","description":"Looks.","input_schema":{"type":"object"},
                 "defer_loading":true,"cache_control":{"type":"ephemeral"}},
                {"type":"custom","name":"touch","input_schema":{"type":"object","properties":{}}},
                {"type":"web_search_20250305","name":"web_search","max_uses":3}])";

TEST(AnthropicRequest, ToolsWithASchemaAreOffered) {
  EXPECT_EQ(decoded(with_field(kTools)).input.tools_json,
            R"([{"type":"function","function":{"name":"look","description":"Looks.",)"
            R"("parameters":{"type":"object"}}},{"type":"function","function":{"name":"touch",)"
            R"("parameters":{"type":"object","properties":{}}}}])");
  EXPECT_EQ(refused(with_field(R"("tools":[{"name":"look"}])")).param, "tools[0].input_schema");
  EXPECT_EQ(decoded(with_field(R"("tools":[])")).input.tools_json, "");
}

TEST(AnthropicRequest, ToolChoice) {
  const auto choose = [](const std::string& choice) {
    return decoded(with_field(kTools + R"(,"tool_choice":)" + choice)).input;
  };
  EXPECT_EQ(choose(R"({"type":"auto"})").tool_choice, "auto");
  EXPECT_EQ(choose(R"({"type":"any"})").tool_choice, "required");
  EXPECT_EQ(choose(R"({"type":"none"})").tool_choice, "none");
  EXPECT_EQ(choose(R"({"type":"auto"})").parallel_tool_calls, std::nullopt);
  EXPECT_EQ(choose(R"({"type":"any","disable_parallel_tool_use":true})").parallel_tool_calls,
            false);
  const auto named = choose(R"({"type":"tool","name":"touch"})");
  EXPECT_EQ(named.tool_choice, "required");
  EXPECT_EQ(Json::parse(named.tools_json).size(), 1U);
  EXPECT_EQ(refused(with_field(kTools + R"(,"tool_choice":{"type":"tool","name":"x"})")).param,
            "tool_choice.name");
  EXPECT_EQ(refused(with_field(R"("tool_choice":{"type":"any"})")).param, "tool_choice.type");
}

TEST(AnthropicRequest, Thinking) {
  EXPECT_EQ(decoded(with_field(R"("x":1)")).input.enable_thinking, std::nullopt);
  const auto enabled = decoded(with_field(R"("thinking":{"type":"enabled","budget_tokens":2048})"));
  EXPECT_EQ(enabled.input.enable_thinking, true);
  EXPECT_EQ(enabled.options.sampling.reasoning_budget_tokens, 2048);
  EXPECT_EQ(decoded(with_field(R"("thinking":{"type":"adaptive"})")).input.enable_thinking, true);
  EXPECT_EQ(decoded(with_field(R"("thinking":{"type":"disabled"})")).input.enable_thinking, false);
  EXPECT_EQ(refused(with_field(R"("thinking":{"type":"deep"})")).param, "thinking.type");
  // The server's word where the request is silent, and the request's before it.
  const ChatDefaults defaults{.template_kwargs = {{"enable_thinking", "true"}}};
  EXPECT_EQ(decoded(with_field(R"("x":1)"), defaults).input.enable_thinking, true);
  const auto off = decoded(with_field(R"("thinking":{"type":"disabled"})"), defaults);
  EXPECT_EQ(off.input.enable_thinking, false);
  EXPECT_FALSE(off.input.template_kwargs.contains("enable_thinking"));
}

TEST(AnthropicRequest, OutputConfig) {
  const std::string format = R"({"type":"json_schema","schema":{"type":"object","required":[]}})";
  const std::string schema = R"({"type":"object","required":[]})";
  EXPECT_EQ(decoded(with_field(R"("output_config":{"format":)" + format + "}")).input.json_schema,
            schema);
  EXPECT_EQ(decoded(with_field(R"("output_format":)" + format)).input.json_schema, schema);
  const auto effort = [](const std::string& word) {
    return decoded(with_field(R"("output_config":{"effort":")" + word + "\"}"))
        .input.template_kwargs.at("reasoning_effort");
  };
  EXPECT_EQ(effort("low"), R"("low")");
  EXPECT_EQ(effort("max"), R"("high")");
  EXPECT_EQ(refused(with_field(R"("output_config":{"format":{"type":"json_schema"}})")).param,
            "output_config.format.schema");
}

TEST(AnthropicRequest, OptionsAndWhatIsIgnored) {
  const auto request = decoded(with_field(
      R"("temperature":0.5,"top_k":7,"stop_sequences":["END","\n\nHuman:"],"stream":true,"n":3,
         "metadata":{"user_id":"u"},"context_management":{"edits":[]},"betas":["x"],
         "service_tier":"auto","mcp_servers":[],"cache_salt":"s")"));
  EXPECT_EQ(request.options.model, "m");
  EXPECT_EQ(request.options.max_tokens, 9);
  EXPECT_FLOAT_EQ(request.options.sampling.temperature, 0.5F);
  EXPECT_EQ(request.options.sampling.top_k, 7);
  EXPECT_EQ(request.options.stops, (std::vector<std::string>{"END", "\n\nHuman:"}));
  EXPECT_TRUE(request.options.stream && request.input.stream);
  EXPECT_EQ(request.options.n, 1);
  EXPECT_EQ(request.options.cache_salt, "s");
  EXPECT_EQ(refused(with_field(R"("stop_sequences":[""])")).param, "stop_sequences[0]");
}

TEST(AnthropicRequest, WhatIsNoRequestIsRefused) {
  EXPECT_EQ(refused("[]").param, "");
  EXPECT_EQ(refused("{").code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused("{}").param, "messages");
  EXPECT_EQ(refused(with_messages("[]")).param, "messages");
  EXPECT_EQ(refused(with_messages(R"([{"content":"a"}])")).param, "messages[0].role");
  EXPECT_EQ(refused(with_messages(R"([{"role":"tool","content":"a"}])")).param, "messages[0].role");
  EXPECT_EQ(refused(with_messages(R"([{"role":"user"}])")).param, "messages[0].content");
  EXPECT_EQ(refused(with_messages(R"([{"role":"user","content":[{"type":"x"}]}])")).param,
            "messages[0].content[0].type");
}

}  // namespace
}  // namespace holdfast::api
