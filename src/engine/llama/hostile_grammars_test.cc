// Grammars and schemas that were written to take all memory or to never end. Each is refused, or
// followed within the limits. The limits of the process itself end the test if one is not.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/llama/llama_config.h"
#include "engine/llama/llama_grammar.h"
#include "engine/llama/llama_sampler.h"

namespace holdfast::llama {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

using Json = nlohmann::ordered_json;

constexpr std::size_t kMemoryMax = std::size_t{256} << 20U;
constexpr int kTokens = 12;

std::string times(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// "a0 ::= <made of a1>", ... ; the last is `end`.
std::string chain(int count, const std::function<std::string(const std::string&)>& made,
                  const std::string& end) {
  std::string text = "root ::= a0\n";
  for (int i = 0; i < count; ++i) {
    text += "a" + std::to_string(i) + " ::= " + made("a" + std::to_string(i + 1)) + "\n";
  }
  return text + "a" + std::to_string(count) + " ::= " + end + "\n";
}

struct Hostile {
  std::string name;
  std::string text;
};

std::vector<Hostile> hostile_grammars() {
  const auto twice = [](const std::string& rule) { return rule + " " + rule; };
  const auto optional = [](const std::string& rule) { return rule + "? " + rule + "?"; };
  const auto either = [](const std::string& rule) { return rule + " \"x\" | " + rule + " \"y\""; };
  const auto starred = [](const std::string& rule) { return "(" + rule + "*)*"; };
  const auto around = [](const std::string& rule) { return "\"a\"? " + rule + " \"a\"?"; };
  std::string alternatives = "root ::= ";
  for (int i = 0; i < 12'000; ++i) alternatives += "\"a\" | ";
  std::string tokens = "root ::= (";
  for (int i = 0; i < 3000; ++i) tokens += "!<[" + std::to_string(i) + "]> | ";
  std::string fan = "root ::= (";
  for (int i = 0; i < 300; ++i) fan += "f" + std::to_string(i) + " | ";
  fan += "\"z\")*\n";
  for (int i = 0; i < 300; ++i) fan += "f" + std::to_string(i) + " ::= [a-z ]* [a-z]\n";
  return {
      {"ends before it begins", "root ::= \"a\"{10,5}"},
      {"ends before it begins, in a group", "root ::= ((\"a\" [b-c]{7}){4000,1})*"},
      {"more rounds than there are numbers", "root ::= \"a\"{18446744073709551615,}"},
      {"many rounds of many rounds", "root ::= (((((\"a\"{60000}){60000}){60000}){60000}){60000})"},
      {"optional rounds of optional rounds", "root ::= ((((\"a\"?){200}){200}){200}){200}"},
      {"a long literal, often", "root ::= \"" + times("ab", 30'000) + "\"{60000}"},
      {"many repetitions", "root ::= " + times("[a-z]{3000} ", 5000)},
      {"doubling, empty at the end", chain(60, twice, "\"a\"?")},
      {"doubling, a star at the end", chain(40, twice, "[a-z ]*")},
      {"doubling, full", chain(60, twice, "\"a\"")},
      {"optional pairs", chain(50, optional, "\"a\"")},
      {"alternatives that begin alike", chain(50, either, "\"a\"")},
      {"stars of stars", chain(80, starred, "[a-z]*")},
      {"something around everything", chain(400, around, "\"b\"")},
      {"a class of letters, 4096 times", "root ::= ([a-z ]*){4096}"},
      {"a class of letters, 60000 times", "root ::= ([a-z ]*){60000}"},
      {"any characters, in pairs", "root ::= (.* .*){400} \"end\""},
      {"twelve thousand alternatives", alternatives + "\"b\""},
      {"tokens that are not", tokens + "\"x\")*"},
      {"a fan of loops", fan},
      {"deep groups", "root ::= " + times("(", 1000) + "\"a\"" + times(")*", 1000)},
      {"deeper groups", "root ::= " + times("(", 30'000) + "\"a\"" + times(")", 30'000)},
      {"nesting without end",
       "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"a\"? root2\n"
       "root2 ::= [a-z]* root2 \"d\" | \"e\""},
      {"hidden left recursion", "root ::= e root \"a\" | \"b\"\ne ::= f f f\nf ::= \"c\"?"},
      {"palindromes", "root ::= p*\np ::= \"a\" p \"a\" | \"b\" p \"b\" | [a-z ] p [a-z ] | \"\""},
      {"a class of everything, one by one",
       "root ::= [" + times("abcdefghijklmnopqrstuvwxyz", 4000) + "]* [a-z]{2000}"},
  };
}

// {"type":"object", "properties": {...}}
Json object(const Json& properties) { return {{"type", "object"}, {"properties", properties}}; }

Json many_properties(int count, const Json& each) {
  Json properties = Json::object();
  for (int i = 0; i < count; ++i) properties["p" + std::to_string(i)] = each;
  return properties;
}

// $defs d0 .. dn, each made of a reference to the next; the last is a string.
Json definitions(int count, const std::function<Json(const Json&)>& made) {
  Json schema = {{"$ref", "#/$defs/d0"}};
  for (int i = 0; i < count; ++i) {
    schema["$defs"]["d" + std::to_string(i)] =
        made({{"$ref", "#/$defs/d" + std::to_string(i + 1)}});
  }
  schema["$defs"]["d" + std::to_string(count)] = {{"type", "string"}};
  return schema;
}

Json nested(int depth, const std::function<Json(const Json&)>& around) {
  Json schema = {{"type", "string"}};
  for (int i = 0; i < depth; ++i) schema = around(schema);
  return schema;
}

std::vector<Hostile> hostile_schemas() {
  const Json text = {{"type", "string"}};
  const auto pattern = [](const std::string& one) {
    return object({{"a", {{"type", "string"}, {"pattern", one}}}});
  };
  Json enumeration = Json::array();
  for (int i = 0; i < 60'000; ++i) enumeration.push_back("value number " + std::to_string(i));
  Json alike = Json::object();
  for (int i = 0; i < 3000; ++i) alike[times("_", 1 + i % 100) + times("é", i / 100)] = text;
  Json patterns = Json::object();
  for (int i = 0; i < 3000; ++i) {
    patterns["p" + std::to_string(i)] = {{"type", "string"}, {"pattern", "^[a-z]{9}(b|c){4}$"}};
  }
  Json other_names = object(many_properties(200, text));
  other_names["additionalProperties"] = text;
  other_names["properties"][times("n", 500)] = text;
  const std::vector<std::pair<std::string, Json>> all = {
      {"minLength over maxLength",
       object({{"a", {{"type", "string"}, {"minLength", 9}, {"maxLength", 2}}}})},
      {"minItems over maxItems",
       {{"type", "array"}, {"items", text}, {"minItems", 900}, {"maxItems", 3}}},
      {"minimum over maximum", {{"type", "integer"}, {"minimum", 7}, {"maximum", -7}}},
      {"a huge minLength", object({{"a", {{"type", "string"}, {"minLength", 2'000'000'000}}}})},
      {"a huge minimum", {{"type", "integer"}, {"minimum", 900'000'000'000'000'000}}},
      {"long arrays of long arrays",
       nested(6,
              [](const Json& inner) {
                return Json{
                    {"type", "array"}, {"items", inner}, {"minItems", 1000}, {"maxItems", 1900}};
              })},
      {"a pattern of optional rounds", pattern("^((a?){30}){30}$")},
      {"a pattern of stars", pattern("^((((((([a-z]*)*)*)*)*)*)*)*$")},
      {"a pattern of many letters", pattern("^(([a-z ]{0,60}){60}){60}$")},
      {"a pattern of huge rounds", pattern("^(((a{60000}){60000}){60000}){60000}$")},
      {"a pattern of alternatives", pattern("^((a|a|a|a|aa|b){20}){40}$")},
      {"a pattern that ends before it begins", pattern("^a{9,3}$")},
      {"a pattern with a look ahead", pattern("^(?=.*[0-9])[a-z0-9]+$")},
      {"thousands of patterns", object(patterns)},
      {"two thousand optional properties", object(many_properties(2000, text))},
      {"objects of objects of optional properties",
       nested(4, [](const Json& inner) { return object(many_properties(9, inner)); })},
      {"types of types",
       nested(40,
              [](const Json& inner) {
                return Json{{"type", {"object", "object"}}, {"properties", {{"a", inner}}}};
              })},
      {"references that double", definitions(40,
                                             [](const Json& next) {
                                               return Json{{"anyOf", {next, next}}};
                                             })},
      {"allOf that doubles",
       definitions(40,
                   [](const Json& next) {
                     return object({{"x", {{"allOf", {next}}}}, {"y", {{"allOf", {next}}}}});
                   })},
      {"a long chain of references", definitions(3000,
                                                 [](const Json& next) {
                                                   return Json{{"type", "array"}, {"items", next}};
                                                 })},
      {"a reference to itself",
       Json{{"$ref", "#/$defs/a"}, {"$defs", {{"a", {{"$ref", "#/$defs/a"}}}}}}},
      {"allOf of itself",
       Json{{"allOf", {{{"$ref", "#/$defs/a"}}}}, {"$defs", {{"a", {{"$ref", "#/$defs/a"}}}}}}},
      {"a property that is allOf of its owner",
       Json{{"$ref", "#/$defs/a"},
            {"$defs", {{"a", object({{"x", {{"allOf", {{{"$ref", "#/$defs/a"}}}}}}})}}}}},
      {"a name as long as a book", object({{times("_", 300'000), text}})},
      {"sixty thousand values", Json{{"enum", enumeration}}},
      {"names that become alike", object(alike)},
      {"all names but these", other_names},
      {"an object of everything, deep",
       nested(60,
              [](const Json& inner) {
                return Json{{"anyOf",
                             {object({{"a", inner}}),
                              Json{{"type", "array"}, {"items", {{"type", "string"}}}}}}};
              })},
  };
  std::vector<Hostile> schemas;
  for (const auto& [name, schema] : all) schemas.push_back({name, schema.dump()});
  return schemas;
}

std::size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10U;
  }
  return 0;
}

// The peak counts from here.
std::size_t memory_now() {
  std::ofstream("/proc/self/clear_refs") << 5;
  return peak_memory();
}

class HostileGrammars : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    LlamaConfig config{.model_path = HOLDFAST_POCKET_MODEL_PATH, .context_tokens = 512};
    config.slots = 1;
    config.threads = 1;
    auto loaded = load_llama_model(config, nullptr);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    model_ = new LoadedModel(std::move(*loaded));
    // What is missed here must not take the machine with it. A sanitizer reserves terabytes of
    // addresses for itself.
    if (!kSanitized) {
      const rlimit memory{std::size_t{4} << 30U, std::size_t{4} << 30U};
      setrlimit(RLIMIT_AS, &memory);
    }
    const rlimit seconds{300, 300};
    setrlimit(RLIMIT_CPU, &seconds);
  }
  static void TearDownTestSuite() { delete model_; }

  // Refused as an error of `field`, or followed for some tokens.
  static void judge(const Hostile& hostile, const std::string& field,
                    const std::function<Result<std::unique_ptr<engine::Sampler>>()>& make) {
    SCOPED_TRACE(hostile.name);
    const std::size_t before = memory_now();
    const std::clock_t begun = std::clock();
    auto sampler = make();
    if (sampler) {
      follow(static_cast<LlamaSampler&>(**sampler));
    } else {
      EXPECT_EQ(sampler.error().code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(sampler.error().param, field) << sampler.error().message;
    }
    sampler = Error{};
    // What was there before may have been given back to the system meanwhile.
    const std::size_t taken = std::max(peak_memory(), before) - before;
    EXPECT_LE(taken, kMemoryMax);
    std::cout << (taken >> 10U) << " KiB, " << (std::clock() - begun) * 1000 / CLOCKS_PER_SEC
              << " ms  " << hostile.name << "\n";
  }

  static void follow(LlamaSampler& sampler) {
    constexpr SlotId kSlot{0};
    engine::Engine& engine = *model_->engine;
    engine.clear(kSlot);
    const Tokens prompt = model_->text->tokenize("Say something.", true, true);
    ASSERT_TRUE(engine.prefill(kSlot, prompt, engine::LogitsOf::kLastToken).ok());
    for (int i = 0; i < kTokens; ++i) {
      const auto sampled = engine.sample(kSlot, sampler);
      expect_bounded(*sampler.grammar());
      const auto taken = sampled ? sampler.accept(sampled->token) : sampled.error();
      if (!taken) return expect_refusal(taken.error());
      if (model_->text->ends_generation(sampled->token)) return;
      const engine::DecodeStep step{kSlot, {&sampled->token, 1}};
      ASSERT_TRUE(engine.decode({&step, 1}).ok());
    }
  }

  static void expect_bounded(const LlamaGrammar& grammar) {
    const engine::GrammarLimits limits;
    EXPECT_LE(grammar.matcher().moves(), limits.moves() + limits.moves() / 4);
    EXPECT_LE(grammar.matcher().bytes(), kMemoryMax);
  }

  static void expect_refusal(const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << error.message;
    EXPECT_NE(error.message.find("--grammar-limit"), std::string::npos) << error.message;
  }

  static LoadedModel* model_;
};
LoadedModel* HostileGrammars::model_ = nullptr;

TEST_F(HostileGrammars, GrammarsAreRefusedOrFollowedWithinTheLimits) {
  for (const Hostile& one : hostile_grammars()) {
    judge(one, "grammar", [&] {
      engine::SamplingParams params;
      params.grammar = one.text;
      return model_->text->make_sampler(params, nullptr);
    });
  }
}

TEST_F(HostileGrammars, SchemasOfCompletionsAreRefusedOrFollowedWithinTheLimits) {
  for (const Hostile& one : hostile_schemas()) {
    judge(one, "response_format", [&] {
      engine::SamplingParams params;
      params.json_schema = one.text;
      return model_->text->make_sampler(params, nullptr);
    });
  }
}

Result<std::unique_ptr<engine::Sampler>> sampler_of(const engine::TextModel& text,
                                                    engine::ChatInput input) {
  input.messages_json = R"([{"role":"user","content":"Hello"}])";
  const auto chat = text.render(input);
  if (!chat) return chat.error();
  return text.make_sampler({}, chat->format.get());
}

TEST_F(HostileGrammars, SchemasOfChatsAreRefusedOrFollowedWithinTheLimits) {
  for (const Hostile& one : hostile_schemas()) {
    judge(one, "response_format", [&] {
      engine::ChatInput input;
      input.json_schema = one.text;
      return sampler_of(*model_->text, input);
    });
  }
}

TEST_F(HostileGrammars, SchemasOfToolsAreRefusedOrFollowedWithinTheLimits) {
  for (const Hostile& one : hostile_schemas()) {
    judge(one, "tools", [&] {
      engine::ChatInput input;
      input.tool_choice = "required";
      input.tools_json =
          R"([{"type":"function","function":{"name":"f","parameters":)" + one.text + "}}]";
      return sampler_of(*model_->text, input);
    });
  }
}

TEST(HostileGrammarsCorpus, HasFifty) {
  EXPECT_GE(hostile_grammars().size() + hostile_schemas().size(), 50U);
}

}  // namespace
}  // namespace holdfast::llama
