// What Ollama's bodies become.
#include "api/ollama_request.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

ChatRequest chat(const std::string& fields) {
  auto request =
      decode_ollama_chat(R"({"messages":[{"role":"user","content":"hi"}])" + fields + "}", {});
  EXPECT_TRUE(request.ok()) << request.error().message;
  return request.ok() ? *request : ChatRequest{};
}
ChatRequest talk(const std::string& messages) {
  auto request = decode_ollama_chat(R"({"messages":[)" + messages + "]}", {});
  EXPECT_TRUE(request.ok()) << request.error().message;
  return request.ok() ? *request : ChatRequest{};
}
std::string mistake(const std::string& json) {
  const auto request = decode_ollama_chat(json, {});
  EXPECT_FALSE(request.ok()) << json;
  return request.ok() ? "" : request.error().param;
}
std::string generate_mistake(const std::string& fields) {
  const auto request = decode_ollama_generate(R"({"prompt":"hi")" + fields + "}", {});
  EXPECT_FALSE(request.ok()) << fields;
  return request.ok() ? "" : request.error().param;
}

TEST(OllamaRequest, OptionsAreTheSampling) {
  const ChatRequest request =
      chat(R"(,"options":{"temperature":0.5,"top_k":3,"seed":9,"num_predict":7,"stop":["a","b"],)"
           R"("repeat_last_n":-1,"num_ctx":4096,"numa":true})");
  EXPECT_EQ(request.options.sampling.temperature, 0.5F);
  EXPECT_EQ(request.options.sampling.top_k, 3);
  EXPECT_EQ(request.options.sampling.seed, 9U);
  EXPECT_EQ(request.options.max_tokens, 7);
  EXPECT_EQ(request.options.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.options.stream);
  EXPECT_FALSE(chat(R"(,"stream":false)").options.stream);
  for (const char* none : {"-1", "-2", "0"})
    EXPECT_EQ(chat(R"(,"options":{"num_predict":)" + std::string(none) + "}").options.max_tokens,
              -1);
  EXPECT_TRUE(chat(R"(,"options":{"stop":""})").options.stops.empty());
}

TEST(OllamaRequest, ThinkIsABoolOrAnEffort) {
  EXPECT_FALSE(chat("").input.enable_thinking.has_value());
  EXPECT_EQ(chat(R"(,"think":true)").input.enable_thinking, true);
  EXPECT_EQ(chat(R"(,"think":false)").input.enable_thinking, false);
  const ChatRequest low = chat(R"(,"think":"low")");
  EXPECT_EQ(low.input.enable_thinking, true);
  EXPECT_EQ(low.input.template_kwargs.at("reasoning_effort"), R"("low")");
  EXPECT_EQ(mistake(R"({"messages":[{"role":"user","content":""}],"think":"much"})"), "think");
}

TEST(OllamaRequest, FormatIsJsonOrASchema) {
  EXPECT_EQ(chat(R"(,"format":"json")").input.json_schema, R"({"type":"object"})");
  EXPECT_EQ(chat(R"(,"format":{"type":"string"})").input.json_schema, R"({"type":"string"})");
  EXPECT_EQ(chat(R"(,"format":"")").input.json_schema, "");
  EXPECT_EQ(mistake(R"({"messages":[{"role":"user","content":""}],"format":3})"), "format");
}

constexpr const char* kCalls =
    R"({"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[)"
    R"({"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"g","arguments":{}}}]},)";

TEST(OllamaRequest, ResultsFindTheirCallsByNameAndOrder) {
  const Json messages = Json::parse(
      talk(std::string(kCalls) +
           R"({"role":"tool","tool_name":"g","content":"1"},{"role":"tool","content":"2"})")
          .input.messages_json);
  EXPECT_EQ(messages[1]["tool_calls"][0]["id"], "call_1");
  EXPECT_EQ(messages[1]["tool_calls"][0]["function"]["arguments"], R"({"a":1})");
  EXPECT_EQ(messages[2]["tool_call_id"], messages[1]["tool_calls"][1]["id"]);
  EXPECT_EQ(messages[3]["tool_call_id"], messages[1]["tool_calls"][0]["id"]);
  const Json given =
      Json::parse(talk(R"({"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f"}}]},)"
                       R"({"role":"tool","tool_call_id":"x","content":"1"})")
                      .input.messages_json);
  EXPECT_EQ(given[0]["tool_calls"][0]["id"], "x");
  EXPECT_EQ(given[1]["tool_call_id"], "x");
}

TEST(OllamaRequest, AFinalAssistantMessageIsContinued) {
  const ChatRequest request =
      talk(R"({"role":"user","content":"hi"},{"role":"assistant","content":"You","thinking":"t"})");
  EXPECT_TRUE(request.input.continue_final_message);
  EXPECT_FALSE(request.input.add_generation_prompt);
  EXPECT_EQ(Json::parse(request.input.messages_json)[1]["reasoning_content"], "t");
  EXPECT_EQ(mistake(R"({"messages":[{"role":"assistant","content":"a"},)"
                    R"({"role":"assistant","content":"b"}]})"),
            "messages");
}

TEST(OllamaRequest, MistakesNameTheirField) {
  EXPECT_EQ(mistake(R"({"messages":[]})"), "messages");
  EXPECT_EQ(mistake(R"({"messages":[{"role":"user","content":3}]})"), "messages[0].content");
  EXPECT_EQ(mistake(R"({"messages":[{"role":"user","content":"","images":["x"]}]})"),
            "messages[0].images");
  EXPECT_EQ(mistake(R"({"messages":[{"role":"assistant","tool_calls":[{}]}]})"),
            "messages[0].tool_calls[0].function");
  EXPECT_EQ(mistake(R"({"messages":[{"role":"user","content":""}],"options":{"top_p":2}})"),
            "options.top_p");
  EXPECT_EQ(generate_mistake(R"(,"images":["x"])"), "images");
  EXPECT_EQ(generate_mistake(R"(,"context":[1])"), "context");
  EXPECT_EQ(generate_mistake(R"(,"template":"{{ .Prompt }}")"), "template");
}

TEST(OllamaRequest, GenerateIsAChatATextOrWhatStandsBetween) {
  const auto read = [](const std::string& fields) {
    auto request = decode_ollama_generate(R"({"prompt":"hi")" + fields + "}", {});
    EXPECT_TRUE(request.ok()) << request.error().message;
    return *request;
  };
  const auto asked = read(R"(,"system":"be brief","context":[],"images":null)");
  const auto& request = std::get<ChatRequest>(asked);
  EXPECT_EQ(Json::parse(request.input.messages_json)[0]["content"], "be brief");
  EXPECT_EQ(request.sources[1].name(), "prompt");
  const auto raw = read(R"(,"raw":true,"format":"json")");
  EXPECT_EQ(std::get<std::string>(std::get<TextRequest>(raw).prompts[0]), "hi");
  EXPECT_EQ(std::get<TextRequest>(raw).options.sampling.json_schema, R"({"type":"object"})");
  const auto between = read(R"(,"suffix":"end")");
  EXPECT_EQ(std::get<InfillRequest>(between).prefix, "hi");
  EXPECT_EQ(std::get<InfillRequest>(between).suffix, "end");
}

TEST(OllamaRequest, OnlyABodyWithoutTextAsksForTheModel) {
  EXPECT_TRUE(decode_load_request(R"({"model":"m"})", "messages").has_value());
  EXPECT_TRUE(decode_load_request(R"({"messages":[],"keep_alive":0})", "messages")->unload);
  EXPECT_FALSE(decode_load_request(R"({"prompt":"","keep_alive":"5m"})", "prompt")->unload);
  EXPECT_FALSE(decode_load_request(R"({"prompt":"x"})", "prompt").has_value());
  EXPECT_FALSE(decode_load_request(R"({"prompt":"","suffix":"x"})", "prompt").has_value());
  EXPECT_FALSE(decode_load_request("[]", "prompt").has_value());
  EXPECT_FALSE(decode_load_request("{", "prompt").has_value());
}

}  // namespace
}  // namespace holdfast::api
