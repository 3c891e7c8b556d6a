#include "api/openai_request.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

ChatDefaults test_defaults() {
  ChatDefaults defaults;
  defaults.n_max = 4;
  defaults.prompts_max = 3;
  defaults.vocabulary = 1000;
  return defaults;
}

const std::string kHi = R"("messages":[{"role":"user","content":"hi"}])";

Result<ChatRequest> chat(const std::string& json) {
  return decode_chat_request(json, test_defaults());
}
// A valid conversation and the fields under test.
Result<ChatRequest> chat_with(const std::string& fields) {
  return chat("{" + kHi + (fields.empty() ? "" : "," + fields) + "}");
}
Result<TextRequest> text(const std::string& json) {
  return decode_text_request(json, test_defaults());
}
std::string messages_of(const std::string& messages) {
  const auto request = chat(R"({"continue_final_message":false,"messages":)" + messages + "}");
  return request.ok() ? request->input.messages_json : "error: " + request.error().message;
}

struct Refusal {
  std::string body;
  std::string param;
  std::string part;
};

template <typename Request>
void expect_refused(const Refusal& c, const Result<Request>& result) {
  ASSERT_FALSE(result.ok()) << c.body;
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument) << c.body;
  EXPECT_EQ(result.error().param, c.param) << c.body;
  EXPECT_NE(result.error().message.find(c.part), std::string::npos)
      << c.body << " -> " << result.error().message;
}

const char* const kTool = R"({"type":"function","function":{"name":"f"}})";

// --- Defaults and options -----------------------------------------------------

TEST(DecodeChat, ShortestRequestGetsTheServersDefaults) {
  ChatDefaults defaults = test_defaults();
  defaults.sampling.temperature = 0.3F;
  defaults.sampling.top_logprobs = 5;  // only a request may ask for these
  defaults.max_tokens = 77;
  defaults.reasoning_format = "deepseek";
  defaults.template_kwargs = {{"enable_thinking", "false"}};
  const auto request = decode_chat_request("{" + kHi + "}", defaults);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->options.sampling.temperature, 0.3F);
  EXPECT_FALSE(request->options.logprobs());
  EXPECT_EQ(request->options.max_tokens, 77);
  EXPECT_TRUE(request->options.reuse);
  EXPECT_EQ(request->input.reasoning_format, "deepseek");
  EXPECT_EQ(request->input.enable_thinking, false);
  EXPECT_EQ(request->input.messages_json, R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(request->input.tools_json, "");
  EXPECT_TRUE(request->input.add_generation_prompt);
}

TEST(DecodeChat, IgnoresWhatClientsSendBesides) {
  EXPECT_TRUE(chat_with(R"("store":true,"metadata":{"a":1},"user":"u","service_tier":"auto",
      "prompt_cache_key":"k","prompt_cache_retention":"24h","safety_identifier":"s",
      "cache_salt":"x","modalities":["text"],"verbosity":"low","n_cache_reuse":4,
      "prediction":null,"something_new":[{}]
  )")
                  .ok());
}

TEST(DecodeChat, NullIsAbsentForEveryField) {
  const auto request = chat_with(R"("temperature":null,"top_p":null,"stop":null,"seed":null,
      "n":null,"max_tokens":null,"logit_bias":null,"tools":null,"tool_choice":null,
      "response_format":null,"stream":null,"stream_options":null,"logprobs":null,
      "top_logprobs":null,"chat_template_kwargs":null,"reasoning_effort":null,"functions":null,
      "function_call":null,"grammar":null,"json_schema":null,"parallel_tool_calls":null)");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->options.sampling.temperature, engine::SamplingParams{}.temperature);
}

TEST(DecodeChat, ReadsEverySamplingField) {
  const auto request = chat_with(R"("temperature":1.5,"top_k":-1,"top_p":0,"min_p":0.25,
      "typical_p":0.5,"top_n_sigma":2,"xtc_probability":0.125,"xtc_threshold":0.75,
      "dynatemp_range":0.5,"dynatemp_exponent":2,"repeat_last_n":12,"repeat_penalty":1.25,
      "presence_penalty":-2,"frequency_penalty":2,"dry_multiplier":0.5,"dry_base":2,
      "dry_allowed_length":3,"dry_penalty_last_n":9,"dry_sequence_breakers":["|"],
      "mirostat":2,"mirostat_tau":4,"mirostat_eta":0.5,"min_keep":3,"ignore_eos":true,
      "samplers":["top_k","temperature"],"seed":42,"reasoning_budget_tokens":100)");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const engine::SamplingParams& s = request->options.sampling;
  EXPECT_EQ(s.temperature, 1.5F);
  EXPECT_EQ(s.top_k, -1);
  EXPECT_EQ(s.top_p, 0.0F);
  EXPECT_EQ(s.min_p, 0.25F);
  EXPECT_EQ(s.typical_p, 0.5F);
  EXPECT_EQ(s.top_n_sigma, 2.0F);
  EXPECT_EQ(s.xtc_probability, 0.125F);
  EXPECT_EQ(s.xtc_threshold, 0.75F);
  EXPECT_EQ(s.dynatemp_range, 0.5F);
  EXPECT_EQ(s.dynatemp_exponent, 2.0F);
  EXPECT_EQ(s.repeat_last_n, 12);
  EXPECT_EQ(s.repeat_penalty, 1.25F);
  EXPECT_EQ(s.presence_penalty, -2.0F);
  EXPECT_EQ(s.frequency_penalty, 2.0F);
  EXPECT_EQ(s.dry_multiplier, 0.5F);
  EXPECT_EQ(s.dry_base, 2.0F);
  EXPECT_EQ(s.dry_allowed_length, 3);
  EXPECT_EQ(s.dry_penalty_last_n, 9);
  EXPECT_EQ(s.dry_sequence_breakers, std::vector<std::string>{"|"});
  EXPECT_EQ(s.mirostat, 2);
  EXPECT_EQ(s.mirostat_tau, 4.0F);
  EXPECT_EQ(s.mirostat_eta, 0.5F);
  EXPECT_EQ(s.min_keep, 3);
  EXPECT_TRUE(s.ignore_eos);
  EXPECT_EQ(s.samplers, (std::vector<std::string>{"top_k", "temperature"}));
  EXPECT_EQ(s.seed, 42U);
  EXPECT_EQ(s.reasoning_budget_tokens, 100);
}

TEST(DecodeChat, AliasesAndSpecialValues) {
  const auto request = chat_with(R"("repetition_penalty":1.5,"thinking_budget_tokens":7,
      "repeat_last_n":-1,"dry_base":0.5,"samplers":"kt","n_cmpl":2)");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const engine::SamplingParams& s = request->options.sampling;
  EXPECT_EQ(s.repeat_penalty, 1.5F);
  EXPECT_EQ(s.reasoning_budget_tokens, 7);
  EXPECT_EQ(s.repeat_last_n, 1 << 20);
  EXPECT_EQ(s.dry_base, engine::SamplingParams{}.dry_base);
  EXPECT_EQ(s.samplers, (std::vector<std::string>{"top_k", "temperature"}));
  EXPECT_EQ(request->options.n, 2);
}

TEST(DecodeChat, SeedsOf64BitsAndRandomOnes) {
  const std::pair<const char*, std::optional<std::uint32_t>> cases[] = {
      {"0", 0},
      {"4294967294", 4294967294U},
      {"4294967295", std::nullopt},  // llama.cpp's "random"
      {"-1", std::nullopt},
      {"4294967296", 1},             // folded, not cut to 0
      {"18446744069414584320", {}},  // beyond 63 bits: an error
  };
  for (const auto& [seed, expected] : cases) {
    const auto request = chat_with(std::string("\"seed\":") + seed);
    if (request.ok())
      EXPECT_EQ(request->options.sampling.seed, expected) << seed;
    else
      EXPECT_EQ(request.error().param, "seed");
  }
}

TEST(DecodeChat, TheMostSpecificTokenLimitWins) {
  const auto limit = [](const std::string& fields) {
    return chat_with(fields)->options.max_tokens;
  };
  EXPECT_EQ(limit(R"("max_tokens":1)"), 1);
  EXPECT_EQ(limit(R"("max_completion_tokens":2,"max_tokens":1)"), 2);
  EXPECT_EQ(limit(R"("n_predict":3,"max_tokens":1,"max_completion_tokens":2)"), 3);
  EXPECT_EQ(limit(R"("max_tokens":0)"), 0);
  EXPECT_EQ(limit(R"("max_tokens":-1)"), -1);
  EXPECT_EQ(limit(R"("max_tokens":9007199254740991)"), 2147483647);
}

TEST(DecodeChat, ReadsOptions) {
  const auto request = chat_with(R"("model":"m","n":3,"best_of":3,"stop":["a","b"],"stream":true,
      "stream_options":{"include_usage":true},"return_progress":true,"timings_per_token":true,
      "cache_prompt":false,"cache_receipt":true,"cache_salt":"s","id_slot":2,
      "logprobs":true,"top_logprobs":5,"timeout_ms":1500)");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const CompletionOptions& o = request->options;
  EXPECT_EQ(o.model, "m");
  EXPECT_EQ(o.n, 3);
  EXPECT_EQ(o.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(o.stream && o.include_usage && o.return_progress && o.timings_per_token);
  EXPECT_TRUE(request->input.stream);
  EXPECT_FALSE(o.reuse);
  EXPECT_TRUE(o.cache_receipt);
  EXPECT_EQ(o.cache_salt, "s");
  EXPECT_EQ(o.id_slot, 2);
  EXPECT_EQ(o.sampling.top_logprobs, 5);
  EXPECT_EQ(o.timeout.count(), 1500);
  EXPECT_EQ(chat_with(R"("id_slot":-1)")->options.id_slot, std::nullopt);
  EXPECT_EQ(chat_with(R"("stop":"x")")->options.stops, std::vector<std::string>{"x"});
  EXPECT_EQ(chat_with(R"("logprobs":true)")->options.sampling.top_logprobs, 0);
}

TEST(DecodeChat, ATimeoutCanOnlyBeShortened) {
  ChatDefaults defaults = test_defaults();
  defaults.timeout = std::chrono::seconds(10);
  const auto timeout_of = [&](const std::string& fields) {
    return decode_chat_request("{" + kHi + fields + "}", defaults)->options.timeout.count();
  };
  EXPECT_EQ(timeout_of(""), 10'000);
  EXPECT_EQ(timeout_of(R"(,"timeout_ms":500)"), 500);
  EXPECT_EQ(timeout_of(R"(,"timeout_ms":60000)"), 10'000);
  EXPECT_EQ(timeout_of(R"(,"timeout_ms":0)"), 10'000);
}

TEST(DecodeChat, LogitBiasInBothShapes) {
  using Bias = std::pair<Token, float>;
  const auto request = chat_with(R"("logit_bias":{"15":-100,"999":1.5})");
  EXPECT_EQ(request->options.sampling.logit_bias, (std::vector<Bias>{{15, -100.0F}, {999, 1.5F}}));
  const auto pairs = chat_with(R"("logit_bias":[[15,2],[16,false]])");
  ASSERT_TRUE(pairs.ok());
  EXPECT_EQ(pairs->options.sampling.logit_bias[0], Bias(15, 2.0F));
  EXPECT_TRUE(std::isinf(pairs->options.sampling.logit_bias[1].second));
  using TextBias = std::pair<std::string, float>;
  const auto texts = chat_with(R"("logit_bias":{" the":-100,"15":1})");
  EXPECT_EQ(texts->options.sampling.text_bias, (std::vector<TextBias>{{" the", -100.0F}}));
  EXPECT_EQ(texts->options.sampling.logit_bias, (std::vector<Bias>{{15, 1.0F}}));
  EXPECT_EQ(chat_with(R"("logit_bias":[["a",2]])")->options.sampling.text_bias,
            (std::vector<TextBias>{{"a", 2.0F}}));
}

TEST(DecodeChat, RefusesBadOptions) {
  const Refusal cases[] = {
      {R"("temperature":-0.1)", "temperature", "between 0 and 100"},
      {R"("temperature":"hot")", "temperature", "must be a number"},
      {R"("temperature":true)", "temperature", "must be a number"},
      {R"("top_p":1.01)", "top_p", "between 0 and 1"},
      {R"("top_k":-2)", "top_k", "between -1"},
      {R"("top_k":1.5)", "top_k", "integer"},
      {R"("min_p":-1)", "min_p", "between"},
      {R"("presence_penalty":2.1)", "presence_penalty", "between -2 and 2"},
      {R"("frequency_penalty":-3)", "frequency_penalty", "between -2 and 2"},
      {R"("repeat_penalty":0)", "repeat_penalty", "between 0.01"},
      {R"("repeat_last_n":2147483647)", "repeat_last_n", "between"},
      {R"("mirostat":3)", "mirostat", "between 0 and 2"},
      {R"("dry_sequence_breakers":[""])", "dry_sequence_breakers[0]", "1 to 40 bytes"},
      {R"("samplers":"k?")", "samplers", "letter"},
      {R"("samplers":[1])", "samplers[0]", "string"},
      {R"("seed":"x")", "seed", "integer"},
      {R"("n":0)", "n", "between 1 and 4"},
      {R"("n":5)", "n", "between 1 and 4"},
      {R"("n":2,"best_of":3)", "best_of", "equal to n"},
      {R"("max_tokens":-2)", "max_tokens", "between -1"},
      {R"("max_completion_tokens":"9")", "max_completion_tokens", "integer"},
      {R"("stop":"")", "stop", "1 to 1024"},
      {R"("stop":["a",""])", "stop[1]", "1 to 1024"},
      {R"("stop":5)", "stop", "array"},
      {R"("stream":"yes")", "stream", "true or false"},
      {R"("stream_options":true)", "stream_options", "object"},
      {R"("stream_options":{"include_usage":1})", "stream_options.include_usage", "true or"},
      {R"("logprobs":3)", "logprobs", "true or false"},
      {R"("top_logprobs":3)", "top_logprobs", "needs 'logprobs'"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs", "between 0 and 20"},
      {R"("logit_bias":{"":1})", "logit_bias", "texts of 1 to 256"},
      {R"("logit_bias":{"1000":1})", "logit_bias", "ids of the vocabulary"},
      {R"("logit_bias":{"-1":1})", "logit_bias", "ids of the vocabulary"},
      {R"("logit_bias":{"1":true})", "logit_bias", "biases"},
      {R"("logit_bias":{"1":1e7})", "logit_bias", "biases"},
      {R"("logit_bias":[[1]])", "logit_bias", "pairs"},
      {R"("logit_bias":[[null,1]])", "logit_bias", "ids of the vocabulary"},
      {R"("logit_bias":7)", "logit_bias", "object"},
      {R"("id_slot":"0")", "id_slot", "integer"},
      {R"("timeout_ms":-1)", "timeout_ms", "between 0"},
      {R"("model":7)", "model", "string"},
      {R"("reasoning_format":"xml")", "reasoning_format", "deepseek-legacy"},
      {R"("reasoning_effort":3)", "reasoning_effort", "string"},
      {R"("chat_template_kwargs":[])", "chat_template_kwargs", "object"},
      {R"("chat_template_kwargs":{"enable_thinking":"false"})",
       "chat_template_kwargs.enable_thinking", "true or false"},
  };
  for (const Refusal& c : cases) expect_refused(c, chat_with(c.body));
}

TEST(DecodeChat, RefusesTooManyStops) {
  std::string stops = "\"a\"";
  for (int i = 0; i < 32; ++i) stops += ",\"a\"";
  const std::string fields = "\"stop\":[" + stops + "]";
  expect_refused({fields, "stop", "at most 32"}, chat_with(fields));
}

TEST(DecodeChat, RefusesWhatIsNoObject) {
  const Refusal cases[] = {{"", "", "not valid JSON"},
                           {"[]", "", "must be a JSON object"},
                           {"null", "", "JSON object"},
                           {"{\"messages\":\"\xFF\"}", "", "UTF-8"},
                           {"{} {}", "", "not valid JSON"}};
  for (const Refusal& c : cases) {
    expect_refused(c, chat(c.body));
    expect_refused(c, text(c.body));
  }
}

// --- Grammar and schema ---------------------------------------------------------

TEST(DecodeChat, ResponseFormats) {
  const auto schema_of = [](const std::string& fields) {
    const auto request = chat_with(fields);
    return request.ok() ? request->input.json_schema : request.error().message;
  };
  const std::string any = R"({"type":"object"})";
  EXPECT_EQ(schema_of(R"("response_format":{"type":"text"})"), "");
  EXPECT_EQ(schema_of(R"("response_format":{"type":"json_object"})"), any);
  EXPECT_EQ(schema_of(R"("response_format":{"type":"json_object","schema":{"const":1}})"),
            R"({"const":1})");
  EXPECT_EQ(schema_of(R"("response_format":{"type":"json_schema","json_schema":
      {"name":"n","strict":true,"schema":{"z":{},"a":{}}}})"),
            R"({"z":{},"a":{}})");
  EXPECT_EQ(schema_of(R"("json_schema":{})"), any);
  EXPECT_EQ(schema_of(R"("json_schema":{"const":1},"response_format":{"type":"json_object"})"),
            R"({"const":1})");
}

TEST(DecodeChat, RefusesBadConstraints) {
  const std::string tools = std::string("\"tools\":[") + kTool + "]";
  const Refusal cases[] = {
      {R"("response_format":"json")", "response_format", "object"},
      {R"("response_format":{})", "response_format.type", "required"},
      {R"("response_format":{"type":"sound"})", "response_format.type", "json_schema"},
      {R"("response_format":{"type":"json_object","schema":123})", "response_format.schema",
       "object"},
      {R"("response_format":{"type":"json_schema","json_schema":{"schema":[]}})",
       "response_format.json_schema.schema", "object"},
      {R"("json_schema":"x")", "json_schema", "object"},
      {R"("grammar":1)", "grammar", "string"},
      {R"("grammar":"root ::= [a]","json_schema":{})", "grammar", "JSON schema"},
      {R"("grammar":"root ::= [a]",)" + tools, "grammar", "tools"},
      {R"("grammar":")" + std::string(300, '(') + "\"", "grammar", "256 deep"},
      {R"("grammar":")" + std::string(200'000, 'a') + "\"", "grammar", "131072 bytes"},
  };
  for (const Refusal& c : cases) expect_refused(c, chat_with(c.body));
  EXPECT_TRUE(chat_with(R"("grammar":"root ::= [a]","tool_choice":"none",)" + tools).ok());
}

TEST(DecodeChat, ConstraintsStayOutOfTheSampler) {
  const auto request = chat_with(R"("grammar":"root ::= [a]")");
  EXPECT_EQ(request->input.grammar, "root ::= [a]");
  EXPECT_EQ(request->options.sampling.grammar, "");
}

// --- Tools ------------------------------------------------------------------------

TEST(DecodeChat, ToolsAreNormalised) {
  const auto request = chat_with(R"("parallel_tool_calls":false,"tools":[
      {"type":"function","function":{"name":"f","description":null,"strict":true}},
      {"type":"web_search_preview"},
      {"type":"function","function":{"name":"g","description":"G",
       "parameters":{"z":1,"a":2}},"cache_control":{}}])");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->input.tools_json,
            R"([{"type":"function","function":{"name":"f","parameters":)"
            R"({"type":"object","properties":{}}}},)"
            R"({"type":"function","function":{"name":"g","description":"G",)"
            R"("parameters":{"z":1,"a":2}}}])");
  EXPECT_EQ(request->input.tool_choice, "auto");
  EXPECT_EQ(request->input.parallel_tool_calls, false);
  EXPECT_EQ(chat_with(R"("tools":[{"type":"web_search"}])")->input.tools_json, "");
}

TEST(DecodeChat, AChosenFunctionLeavesOnlyThatTool) {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f"}},
      {"type":"function","function":{"name":"g"}}],)";
  const auto one =
      chat_with(tools + R"("tool_choice":{"type":"function","function":{"name":"g"}})");
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_EQ(one->input.tool_choice, "required");
  EXPECT_EQ(one->input.tools_json.find("\"f\""), std::string::npos);
  EXPECT_NE(one->input.tools_json.find("\"g\""), std::string::npos);
  const auto allowed = chat_with(tools + R"("tool_choice":{"type":"allowed_tools",
      "allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}})");
  ASSERT_TRUE(allowed.ok()) << allowed.error().message;
  EXPECT_EQ(allowed->input.tool_choice, "auto");
  EXPECT_EQ(allowed->input.tools_json.find("\"g\""), std::string::npos);
}

TEST(DecodeChat, RefusesBadTools) {
  const std::string tools = std::string("\"tools\":[") + kTool + "],";
  const Refusal cases[] = {
      {R"("tools":{})", "tools", "array"},
      {R"("tools":[1])", "tools[0]", "object"},
      {R"("tools":[{}])", "tools[0].type", "required"},
      {R"("tools":[{"type":"function"}])", "tools[0].function", "required"},
      {R"("tools":[{"type":"function","function":{}}])", "tools[0].function.name", "non-empty"},
      {R"("tools":[{"type":"function","function":{"name":""}}])", "tools[0].function.name",
       "non-empty"},
      {R"("tools":[{"type":"function","function":{"name":"f","parameters":[]}}])",
       "tools[0].function.parameters", "object"},
      {R"("tools":[{"type":"function","function":{"name":"f","description":1}}])",
       "tools[0].function.description", "string"},
      {tools + R"("tool_choice":"maybe")", "tool_choice", "auto, none, required"},
      {tools + R"("tool_choice":1)", "tool_choice", "string"},
      {tools + R"("tool_choice":{"type":"function","function":{"name":"zz"}})", "tool_choice",
       "not in 'tools'"},
      {tools + R"("tool_choice":{"type":"function"})", "tool_choice.function", "required"},
      {tools + R"("tool_choice":{})", "tool_choice.type", "required"},
      {R"("tool_choice":"required")", "tool_choice", "needs 'tools'"},
      {R"("functions":[{"name":"f"}])", "functions", "use 'tools'"},
      {R"("function_call":{"name":"f"})", "function_call", "use 'tool_choice'"},
      {R"("parallel_tool_calls":"no")", "parallel_tool_calls", "true or false"},
  };
  for (const Refusal& c : cases) expect_refused(c, chat_with(c.body));
}

// --- Messages -----------------------------------------------------------------------

TEST(DecodeChat, NormalisesMessages) {
  const std::pair<std::string, std::string> cases[] = {
      {R"([{"role":"developer","content":"d"}])", R"([{"role":"system","content":"d"}])"},
      {R"([{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}]}])",
       R"([{"role":"user","content":"a"}])"},
      {R"([{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"text","text":"b"}]}])",
       R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])"},
      {R"([{"role":"user","content":[]}])", R"([{"role":"user","content":""}])"},
      {R"([{"role":"user","content":"a","name":"bob","extra":1}])",
       R"([{"role":"user","content":"a","name":"bob"}])"},
      {R"([{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}])",
       R"([{"role":"assistant","content":"no"}])"},
      {R"([{"role":"assistant","content":null,"refusal":"no"}])",
       R"([{"role":"assistant","content":"no"}])"},
      {R"([{"role":"assistant","content":"x","reasoning":"why"}])",
       R"([{"role":"assistant","content":"x","reasoning_content":"why"}])"},
      {R"([{"role":"assistant","content":null,"reasoning_content":"why"}])",
       R"([{"role":"assistant","content":"","reasoning_content":"why"}])"},
      {R"([{"role":"assistant","content":[{"type":"thinking","thinking":"t"},
          {"type":"output_text","text":"x"}]}])",
       R"([{"role":"assistant","content":"x","reasoning_content":"t"}])"},
      {R"([{"role":"tool","tool_call_id":"c1","content":"42"}])",
       R"([{"role":"tool","content":"42","tool_call_id":"c1"}])"},
      {R"([{"role":"assistant","content":"x","tool_calls":[]}])",
       R"([{"role":"assistant","content":"x"}])"},
  };
  for (const auto& [given, expected] : cases) EXPECT_EQ(messages_of(given), expected);
}

std::string call_message(const std::string& arguments) {
  return R"([{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function",)"
         R"("function":{"name":"f","arguments":)" +
         arguments + "}}]}]";
}

// Arguments that are an object keep every byte, spaces too: they are prompt text.
TEST(DecodeChat, ArgumentsBecomeTheTextOfAnObject) {
  const std::pair<std::string, std::string> cases[] = {
      {R"("{\"a\": 1}")", R"("{\"a\": 1}")"},
      {R"({"a":1})", R"("{\"a\":1}")"},
      {"null", R"("{}")"},
      {R"("")", R"("{}")"},
      {R"(" null")", R"("{\"raw_arguments\":\" null\"}")"},
      {R"("{\"a\": tru")", R"("{\"raw_arguments\":\"{\\\"a\\\": tru\"}")"},
      {R"("[1]")", R"("{\"raw_arguments\":\"[1]\"}")"},
  };
  for (const auto& [given, expected] : cases)
    EXPECT_EQ(messages_of(call_message(given)), call_message(expected)) << given;
}

TEST(DecodeChat, ToolCallsNeedNeitherIdNorType) {
  EXPECT_EQ(messages_of(R"([{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}])"),
            R"([{"role":"assistant","content":"","tool_calls":[{"type":"function",)"
            R"("function":{"name":"f","arguments":"{}"}}]}])");
}

TEST(DecodeChat, LegacyCallsMeetTheirAnswersByName) {
  EXPECT_EQ(messages_of(R"([{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},
                            {"role":"function","name":"f","content":"1"}])"),
            R"([{"role":"assistant","content":"","tool_calls":[{"id":"call_f","type":"function",)"
            R"("function":{"name":"f","arguments":"{}"}}]},)"
            R"({"role":"tool","content":"1","name":"f","tool_call_id":"call_f"}])");
}

TEST(DecodeChat, RefusesBadMessages) {
  const Refusal cases[] = {
      {"null", "messages", "non-empty array"},
      {"[]", "messages", "non-empty array"},
      {R"("x")", "messages", "array"},
      {"[123]", "messages[0]", "object"},
      {"[{}]", "messages[0].role", "required"},
      {R"([{"role":123}])", "messages[0].role", "string"},
      {R"([{"role":"robot","content":""}])", "messages[0].role", "one of: system"},
      {R"([{"role":"user"}])", "messages[0].content", "required"},
      {R"([{"role":"user","content":null}])", "messages[0].content", "required"},
      {R"([{"role":"system","content":123}])", "messages[0].content", "string or an array"},
      {R"([{"role":"user","content":"a"},{}])", "messages[1].role", "required"},
      {R"([{"role":"user","content":["a"]}])", "messages[0].content[0]", "object"},
      {R"([{"role":"user","content":[{"text":"a"}]}])", "messages[0].content[0].type", "required"},
      {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text",
       "required"},
      {R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]}])",
       "messages[0].content[1].type", "this server reads text only"},
      {R"([{"role":"user","content":[{"type":"input_audio"}]}])", "messages[0].content[0].type",
       "text only"},
      {R"([{"role":"assistant","content":null}])", "messages[0].content", "tool_calls"},
      {R"([{"role":"assistant","content":null,"tool_calls":[]}])", "messages[0].content",
       "tool_calls"},
      {R"([{"role":"tool","content":"x"}])", "messages[0].tool_call_id", "required"},
      {R"([{"role":"tool","content":"x","tool_call_id":5}])", "messages[0].tool_call_id", "string"},
      {R"([{"role":"function","content":"x"}])", "messages[0].name", "required"},
      {R"([{"role":"assistant","tool_calls":{}}])", "messages[0].tool_calls", "array"},
      {R"([{"role":"assistant","tool_calls":[{}]}])", "messages[0].tool_calls[0].function",
       "required"},
      {R"([{"role":"assistant","tool_calls":[{"type":"custom","custom":{}}]}])",
       "messages[0].tool_calls[0].type", "function"},
      {R"([{"role":"assistant","tool_calls":[{"function":{"arguments":"{}"}}]}])",
       "messages[0].tool_calls[0].function.name", "non-empty"},
      {R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":5}}]}])",
       "messages[0].tool_calls[0].function.arguments", "string"},
      {R"([{"role":"assistant","content":"","reasoning_content":5}])",
       "messages[0].reasoning_content", "string"},
  };
  for (const Refusal& c : cases) expect_refused(c, chat(R"({"messages":)" + c.body + "}"));
}

// --- Continuation and reasoning -------------------------------------------------------

const std::string kPrefill =
    R"("messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}])";

TEST(DecodeChat, AFinalAssistantMessageIsContinued) {
  const auto continued = [](const std::string& fields) {
    const auto request = chat("{" + kPrefill + fields + "}");
    EXPECT_TRUE(request.ok()) << request.error().message;
    EXPECT_NE(request->input.continue_final_message, request->input.add_generation_prompt);
    return request->input.continue_final_message;
  };
  EXPECT_TRUE(continued(""));
  EXPECT_TRUE(continued(R"(,"continue_final_message":true)"));
  EXPECT_TRUE(continued(R"(,"continue_final_message":"reasoning_content")"));
  EXPECT_TRUE(continued(R"(,"add_generation_prompt":false)"));
  EXPECT_FALSE(continued(R"(,"continue_final_message":false)"));
  EXPECT_FALSE(chat_with("")->input.continue_final_message);
  EXPECT_FALSE(chat_with(R"("add_generation_prompt":false)")->input.add_generation_prompt);
}

TEST(DecodeChat, RefusesContinuationsThatCannotBe) {
  const std::string two = R"({"messages":[{"role":"assistant","content":"a"},
                                          {"role":"assistant","content":"b"}]})";
  const std::string call = R"({"messages":[{"role":"assistant","tool_calls":
                               [{"function":{"name":"f"}}]}]})";
  const Refusal cases[] = {
      {two, "messages", "two assistant messages"},
      {call, "messages", "calls tools"},
      {"{" + kHi + R"(,"continue_final_message":true})", "continue_final_message", "at the end"},
      {"{" + kPrefill + R"(,"continue_final_message":true,"add_generation_prompt":true})",
       "continue_final_message", "add_generation_prompt"},
      {"{" + kPrefill + R"(,"continue_final_message":"thoughts"})", "continue_final_message",
       "true or false"},
  };
  for (const Refusal& c : cases) expect_refused(c, chat(c.body));
}

TEST(DecodeChat, ReasoningFields) {
  const auto none = chat_with(R"("reasoning_effort":"none",
      "chat_template_kwargs":{"enable_thinking":true,"reasoning_effort":"high"})");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->input.enable_thinking, false);
  EXPECT_FALSE(none->input.template_kwargs.contains("reasoning_effort"));

  const auto high = chat_with(R"("reasoning_effort":"high","reasoning_format":"none",
      "chat_template_kwargs":{"preserve_thinking":true,"list":[1,"a"],"gone":null})");
  ASSERT_TRUE(high.ok());
  EXPECT_EQ(high->input.enable_thinking, std::nullopt);
  EXPECT_EQ(high->input.reasoning_format, "none");
  const std::map<std::string, std::string> kwargs = {
      {"preserve_thinking", "true"}, {"list", R"([1,"a"])"}, {"reasoning_effort", "\"high\""}};
  EXPECT_EQ(high->input.template_kwargs, kwargs);
}

// --- Plain completions -------------------------------------------------------------------

TEST(DecodeText, PromptsInEveryShape) {
  const auto prompts = [](const std::string& prompt) {
    const auto request = text(R"({"prompt":)" + prompt + "}");
    EXPECT_TRUE(request.ok()) << request.error().message;
    return request->prompts;
  };
  using Prompts = std::vector<TextPrompt>;
  EXPECT_EQ(prompts(R"("a")"), (Prompts{"a"}));
  EXPECT_EQ(prompts(R"("")"), (Prompts{""}));
  EXPECT_EQ(prompts("[1,2]"), (Prompts{Tokens{1, 2}}));
  EXPECT_EQ(prompts(R"(["a","b"])"), (Prompts{"a", "b"}));
  EXPECT_EQ(prompts(R"([[1],"b",{"prompt_string":"c"}])"), (Prompts{Tokens{1}, "b", "c"}));
  EXPECT_EQ(prompts(R"({"prompt_string":"c"})"), (Prompts{"c"}));
}

TEST(DecodeText, ReadsItsOwnFields) {
  const auto request = text(R"({"prompt":"a","echo":true,"suffix":"","logprobs":3,
      "grammar":"root ::= [a]","max_tokens":4})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_TRUE(request->echo);
  EXPECT_EQ(request->options.sampling.top_logprobs, 3);
  EXPECT_EQ(request->options.sampling.grammar, "root ::= [a]");
  EXPECT_EQ(request->options.max_tokens, 4);
  const auto schema = text(R"({"prompt":"a","json_schema":{"const":1},"logprobs":false})");
  EXPECT_EQ(schema->options.sampling.json_schema, R"({"const":1})");
  EXPECT_FALSE(schema->options.logprobs());
  EXPECT_EQ(text(R"({"prompt":"a","n_probs":2})")->options.sampling.top_logprobs, 2);
  EXPECT_EQ(text(R"({"prompt":"a","logprobs":0})")->options.sampling.top_logprobs, 0);
  EXPECT_FALSE(text(R"({"prompt":"a","n_probs":0})")->options.logprobs());
}

TEST(DecodeText, RefusesBadPrompts) {
  const Refusal cases[] = {
      {R"({})", "prompt", "required"},
      {R"({"prompt":null})", "prompt", "required"},
      {R"({"prompt":[]})", "prompt", "required"},
      {R"({"prompt":5})", "prompt", "string or"},
      {R"({"prompt":[[]]})", "prompt[0]", "non-empty array"},
      {R"({"prompt":[null]})", "prompt[0]", "string or"},
      {R"({"prompt":[1,"a",null]})", "prompt[2]", "text or a token id"},
      {R"({"prompt":["a",1000]})", "prompt[1]", "text or a token id"},
      {R"({"prompt":[1,1000]})", "prompt[1]", "token id"},
      {R"({"prompt":[-1]})", "prompt[0]", "token id"},
      {R"({"prompt":[1.5]})", "prompt[0]", "token id"},
      {R"({"prompt":["a",[7,-7]]})", "prompt[1][1]", "token id"},
      {R"({"prompt":["a","b","c","d"]})", "prompt", "at most 3"},
      {R"({"prompt":{}})", "prompt.prompt_string", "required"},
      {R"({"prompt":{"prompt_string":"a","multimodal_data":["x"]}})", "prompt.multimodal_data",
       "text only"},
      {R"({"prompt":"a","suffix":"b"})", "suffix", "not supported"},
      {R"({"prompt":"a","logprobs":21})", "logprobs", "between 0 and 20"},
      {R"({"prompt":"a","echo":1})", "echo", "true or false"},
      {R"({"prompt":"a","temperature":-1})", "temperature", "between"},
  };
  for (const Refusal& c : cases) expect_refused(c, text(c.body));
}

// The engine's grammar parser recurses for each open group and has no limit.
TEST(ChatRequest, DeepGrammarsAreRefusedHoweverTheyAreDressed) {
  const auto refused = [](const std::string& grammar) {
    const Json body = {{"messages", {{{"role", "user"}, {"content", "x"}}}}, {"grammar", grammar}};
    const auto request = decode_chat_request(json_text(body), ChatDefaults{});
    return !request.ok() && request.error().param == "grammar";
  };
  const std::string open(50'000, '(');
  EXPECT_TRUE(refused("root ::= " + open));
  EXPECT_TRUE(refused("root ::= \"" + std::string(50'000, ')') + "\" " + open)) << "literal";
  EXPECT_TRUE(refused("root ::= # " + std::string(50'000, ')') + "\n" + open)) << "comment";
  EXPECT_TRUE(refused("root ::= [" + std::string(50'000, ')') + "] " + open)) << "class";
  std::string woven;
  for (int i = 0; i < 20'000; ++i) woven += "(\")\"";
  EXPECT_TRUE(refused("root ::= " + woven));
  EXPECT_FALSE(refused("root ::= (\"a\" | \"(((\")"));
}

}  // namespace
}  // namespace holdfast::api
