#include "api/responses_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

std::optional<std::string> find_none(const std::string&, const std::string&) {
  return std::nullopt;
}

Result<ResponsesRequest> decode(const std::string& json,
                                const StoredTalk& stored = {find_none, find_none}) {
  ChatDefaults defaults;
  defaults.max_tokens = 77;
  defaults.template_kwargs = {{"tone", "\"calm\""}};
  return decode_responses_request(json, defaults, stored);
}
// A valid input and the fields under test.
Result<ResponsesRequest> with(const std::string& fields) {
  return decode(R"({"input":"hi")" + (fields.empty() ? "" : "," + fields) + "}");
}
Json echo_of(const ResponsesRequest& request) { return *parse_json('{' + request.echo_json + '}'); }

void expect_refused(const std::string& fields, const std::string& param) {
  const auto request = with(fields);
  ASSERT_FALSE(request.ok()) << fields;
  EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument) << fields;
  EXPECT_EQ(request.error().param, param) << fields << ": " << request.error().message;
}

TEST(ResponsesRequest, TheShortestOneGetsDefaults) {
  const auto request = with("");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->chat.input.messages_json, R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(request->chat.options.max_tokens, 77);
  EXPECT_TRUE(request->store);
  EXPECT_FALSE(request->chat.options.stream);
  EXPECT_TRUE(request->chat.input.add_generation_prompt);
  EXPECT_FALSE(request->chat.input.continue_final_message);
  EXPECT_EQ(request->items_json, R"([{"type":"message","role":"user","content":"hi"}])");
  const Json echo = echo_of(*request);
  EXPECT_EQ(echo["instructions"], nullptr);
  EXPECT_EQ(echo["tools"], Json::array());
  EXPECT_EQ(echo["tool_choice"], "auto");
  EXPECT_EQ(echo["metadata"], Json::object());
}

TEST(ResponsesRequest, WhatCodexSendsIsTaken) {
  const auto request = decode(R"({"model":"gpt-5.2-codex","instructions":"You are Codex.",
    "input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]},
             {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}],
    "tools":[{"type":"function","name":"shell","description":"d","strict":false,
              "parameters":{"type":"object","properties":{"cmd":{"type":"string"}}}},
             {"type":"custom","name":"apply_patch","description":"patches",
              "format":{"type":"grammar","syntax":"lark","definition":"start: x"}},
             {"type":"web_search","external_web_access":false},
             {"type":"namespace","name":"mcp","tools":[]}],
    "tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium","summary":"auto"},
    "store":false,"stream":true,"include":["reasoning.encrypted_content"],
    "prompt_cache_key":"session","client_metadata":{"a":"b"},"text":{"verbosity":"low"},
    "service_tier":null,"stream_options":{"include_obfuscation":false}})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->chat.options.model, "gpt-5.2-codex");
  EXPECT_TRUE(request->chat.options.stream);
  EXPECT_FALSE(request->store);
  EXPECT_EQ(request->items_json, "");
  EXPECT_EQ(
      request->chat.input.messages_json,
      R"([{"role":"system","content":"You are Codex.\n\nrules"},{"role":"user","content":"go"}])");
  const Json tools = *parse_json(request->chat.input.tools_json);
  ASSERT_EQ(tools.size(), 2U);
  EXPECT_EQ(tools[0]["function"]["parameters"]["properties"]["cmd"]["type"], "string");
  EXPECT_EQ(tools[1]["function"]["name"], "apply_patch");
  EXPECT_EQ(tools[1]["function"]["description"],
            "patches\n\nThe input follows this lark grammar:\nstart: x");
  EXPECT_EQ(tools[1]["function"]["parameters"]["required"], Json::array({"input"}));
  EXPECT_EQ(request->custom_tools, std::set<std::string>{"apply_patch"});
  EXPECT_EQ(request->chat.input.parallel_tool_calls, true);
  EXPECT_EQ(request->chat.input.template_kwargs.at("reasoning_effort"), "\"medium\"");
  EXPECT_EQ(request->chat.input.template_kwargs.at("tone"), "\"calm\"");
  EXPECT_EQ(request->chat.input.enable_thinking, std::nullopt);
  EXPECT_EQ(echo_of(*request)["prompt_cache_key"], "session");
  EXPECT_EQ(echo_of(*request)["tools"].size(), 4U) << "the client sees what it sent";
}

TEST(ResponsesRequest, EffortsNoneAndMinimalTurnThinkingOff) {
  EXPECT_EQ(with(R"("reasoning":{"effort":"none"})")->chat.input.enable_thinking, false);
  EXPECT_EQ(with(R"("reasoning":{"effort":"minimal"})")->chat.input.enable_thinking, false);
  EXPECT_EQ(with(R"("reasoning":{"effort":"high"})")->chat.input.enable_thinking, std::nullopt);
  EXPECT_EQ(with(R"("reasoning":null)")->chat.input.enable_thinking, std::nullopt);
  EXPECT_EQ(with(R"("chat_template_kwargs":{"enable_thinking":false})")->chat.input.enable_thinking,
            false);
}

TEST(ResponsesRequest, LimitsAndSampling) {
  const auto request = with(R"("max_output_tokens":12,"temperature":0.5,"top_p":0.25,"n":3)");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->chat.options.max_tokens, 12);
  EXPECT_EQ(request->chat.options.n, 1);
  EXPECT_FLOAT_EQ(request->chat.options.sampling.temperature, 0.5F);
  const Json echo = echo_of(*request);
  EXPECT_EQ(echo["temperature"], 0.5);
  EXPECT_EQ(echo["top_p"], 0.25);
  EXPECT_EQ(echo["max_output_tokens"], 12);
}

TEST(ResponsesRequest, TextFormats) {
  EXPECT_EQ(with(R"("text":{"format":{"type":"text"}})")->chat.input.json_schema, "");
  EXPECT_EQ(with(R"("text":{"format":{"type":"json_object"}})")->chat.input.json_schema,
            R"({"type":"object"})");
  EXPECT_EQ(with(R"("text":{"format":{"type":"json_schema","name":"s","strict":true,
                      "schema":{"type":"integer"}}})")
                ->chat.input.json_schema,
            R"({"type":"integer"})");
  expect_refused(R"("text":{"format":{"type":"json_schema","name":"s"}})", "text.format.schema");
  expect_refused(R"("text":{"format":{"type":"xml"}})", "text.format.type");
}

TEST(ResponsesRequest, ToolChoices) {
  const std::string tools =
      R"("tools":[{"type":"function","name":"f"},{"type":"custom","name":"g"}],)";
  EXPECT_EQ(with(tools + R"("tool_choice":"none")")->chat.input.tool_choice, "none");
  EXPECT_EQ(with(tools + R"("tool_choice":"required")")->chat.input.tool_choice, "required");
  const auto named = with(tools + R"("tool_choice":{"type":"function","name":"f"})");
  EXPECT_EQ(named->chat.input.tool_choice, "required");
  EXPECT_EQ(parse_json(named->chat.input.tools_json)->size(), 1U);
  EXPECT_TRUE(named->custom_tools.empty()) << "only the chosen tools are left";
  const auto custom = with(tools + R"("tool_choice":{"type":"custom","name":"g"})");
  EXPECT_EQ(custom->custom_tools, std::set<std::string>{"g"});
  const auto allowed = with(tools +
                            R"("tool_choice":{"type":"allowed_tools","mode":"auto",
                               "tools":[{"type":"function","name":"f"}]})");
  EXPECT_EQ(allowed->chat.input.tool_choice, "auto");
  EXPECT_EQ(parse_json(allowed->chat.input.tools_json)->size(), 1U);
  expect_refused(tools + R"("tool_choice":{"type":"function","name":"h"})", "tool_choice");
  expect_refused(tools + R"("tool_choice":{"type":"web_search"})", "tool_choice.type");
  expect_refused(R"("tool_choice":"required")", "tool_choice");
  expect_refused(R"("tools":[{"type":"function"}])", "tools[0].name");
  expect_refused(R"("tools":[{"name":"f"}])", "tools[0].type");
}

TEST(ResponsesRequest, MistakesAreNamed) {
  expect_refused(R"("background":true)", "background");
  expect_refused(R"("conversation":"conv_1")", "conversation");
  expect_refused(R"("prompt":{"id":"pmpt_1"})", "prompt");
  expect_refused(R"("instructions":7)", "instructions");
  expect_refused(R"("max_output_tokens":-1)", "max_output_tokens");
  expect_refused(R"("store":"yes")", "store");
  for (const char* body : {R"({})", R"({"input":[]})", R"({"input":7})", R"({"input":[7]})"}) {
    const auto request = decode(body);
    ASSERT_FALSE(request.ok()) << body;
    EXPECT_TRUE(request.error().param.starts_with("input")) << request.error().param;
  }
}

TEST(ResponsesRequest, APreviousResponseGoesBeforeTheInput) {
  std::string asked;
  const StoredTalk::Find find = [&](const std::string& id,
                                    const std::string& salt) -> std::optional<std::string> {
    asked = id + "/" + salt;
    return R"([{"role":"user","content":"a"},{"type":"message","role":"assistant","content":"b"}])";
  };
  const auto request = decode(
      R"({"input":"c","instructions":"new","previous_response_id":"resp_1","cache_salt":"s"})",
      {find, find_none});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(asked, "resp_1/s");
  EXPECT_EQ(request->chat.input.messages_json,
            R"([{"role":"system","content":"new"},{"role":"user","content":"a"},)"
            R"({"role":"assistant","content":"b"},{"role":"user","content":"c"}])");
  const Json items = *parse_json(request->items_json);
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[2]["content"], "c");
  EXPECT_EQ(echo_of(*request)["previous_response_id"], "resp_1");
}

TEST(ResponsesRequest, Rreq5AnItemThatIsOnlyNamedIsPutInItsPlace) {
  const StoredTalk::Find find = [](const std::string& id,
                                   const std::string& salt) -> std::optional<std::string> {
    if (id + salt != "msg_1s") return std::nullopt;
    return R"({"type":"message","id":"msg_1","role":"assistant","content":"b"})";
  };
  const auto ask = [&](const std::string& item) {
    return decode(R"({"cache_salt":"s","input":[{"role":"user","content":"a"},)" + item + "]}",
                  {find_none, find});
  };
  const auto request = ask(R"({"type":"item_reference","id":"msg_1"})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->chat.input.messages_json,
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])");
  EXPECT_EQ((*parse_json(request->items_json))[1]["content"], "b");
  const auto unknown = ask(R"({"type":"item_reference","id":"msg_2"})");
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().param, "input[1].id");
  EXPECT_EQ(ask(R"({"type":"item_reference"})").error().param, "input[1].id");
  EXPECT_EQ(ask(R"({"type":"item_reference","id":7})").error().param, "input[1].id");
}

TEST(ResponsesRequest, AnUnknownPreviousResponseIsNotFound) {
  const auto request = with(R"("previous_response_id":"resp_9")");
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(request.error().param, "previous_response_id");
  EXPECT_NE(request.error().message.find("resp_9"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::api
