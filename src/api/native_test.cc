// llama-server's own shape of an answer: POST /completion, whole and streamed.
#include <algorithm>

#include "api/native_request.h"
#include "api/testing/test_server.h"

namespace holdfast::api {
namespace {

class Native : public ::testing::Test {
 protected:
  Native() { server_.load(); }

  TestAnswer complete(const std::string& fields, const std::string& path = "/completion") {
    return server_.ask("POST", path, R"({"prompt":"<s>one two")" + fields + "}");
  }
  Json answer(const std::string& fields) { return json_of(complete(fields)); }

  TestServer server_;
};

TEST_F(Native, WholeAnswerHasLlamaServersFields) {
  const Json got = answer(R"(,"n_predict":5,"cache_prompt":false)");
  EXPECT_EQ(got["index"], 0);
  EXPECT_FALSE(got["content"].get<std::string>().empty());
  EXPECT_EQ(got["tokens"], Json::array());
  EXPECT_TRUE(got["id_slot"].is_number_integer());
  EXPECT_EQ(got["stop"], true);
  EXPECT_EQ(got["stop_type"], "limit");
  EXPECT_EQ(got["stopping_word"], "");
  EXPECT_EQ(got["truncated"], false);
  EXPECT_EQ(got["has_new_line"], got["content"].get<std::string>().find('\n') != std::string::npos);
  EXPECT_EQ(got["tokens_predicted"], 5);
  EXPECT_EQ(got["tokens_evaluated"], got["timings"]["prompt_n"]);
  EXPECT_EQ(got["tokens_cached"], got["tokens_evaluated"].get<int>() + 4) << "the last one is not";
  EXPECT_EQ(got["prompt"], "<s>one two");
  EXPECT_EQ(got["generation_settings"]["n_predict"], 5);
  EXPECT_FALSE(got.contains("choices"));
  EXPECT_FALSE(got.contains("completion_probabilities"));
}

TEST_F(Native, OnlyTheVersionedPathIsOpenAIs) {
  EXPECT_TRUE(json_of(complete(R"(,"n_predict":1)", "/completions")).contains("content"));
  EXPECT_TRUE(json_of(complete(R"(,"n_predict":1)", "/v1/completions")).contains("choices"));
}

TEST_F(Native, TokensAreThoseOfTheText) {
  const Json got = answer(R"(,"n_predict":6,"return_tokens":true)");
  ASSERT_EQ(got["tokens"].size(), 6U);
  const Json read =
      json_of(server_.ask("POST", "/detokenize", Json{{"tokens", got["tokens"]}}.dump()));
  EXPECT_EQ(read["content"], got["content"]);
}

TEST_F(Native, StreamSaysWhatTheWholeSays) {
  const std::string fields = R"(,"n_predict":20,"cache_prompt":false,"n_probs":2)";
  const Json whole = answer(fields + R"(,"return_tokens":true)");
  const auto events = events_of(complete(fields + R"(,"stream":true)"));
  std::string content;
  Json tokens = Json::array();
  Json probabilities = Json::array();
  for (const std::string& event : events) {
    const Json piece = *parse_json(event);
    if (piece["stop"] == true) continue;
    content += piece["content"].get<std::string>();
    ASSERT_EQ(piece["tokens"].size(), 1U) << event;
    ASSERT_EQ(piece["completion_probabilities"].size(), 1U) << event;
    tokens.push_back(piece["tokens"][0]);
    probabilities.push_back(piece["completion_probabilities"][0]);
  }
  EXPECT_EQ(content, whole["content"].get<std::string>());
  EXPECT_EQ(tokens, whole["tokens"]);
  EXPECT_EQ(probabilities, whole["completion_probabilities"]);
  const Json last = *parse_json(events.back());
  EXPECT_EQ(last["stop"], true) << "and no [DONE] after it";
  EXPECT_EQ(last["content"], "");
  EXPECT_EQ(last["tokens_predicted"], whole["tokens_predicted"]);
}

TEST_F(Native, SeveralPromptsAreAnArray) {
  const Json got =
      json_of(server_.ask("POST", "/completion", R"({"prompt":["<s>a","<s>b"],"n_predict":2})"));
  ASSERT_TRUE(got.is_array());
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0]["prompt"], "<s>a");
  EXPECT_EQ(got[1]["index"], 1);
}

TEST_F(Native, IdsAndTextsMixInOnePrompt) {
  const Json got =
      json_of(server_.ask("POST", "/completion", R"({"prompt":[97,98,"cd",101],"n_predict":1})"));
  EXPECT_EQ(got["prompt"], "abcde");
  EXPECT_EQ(got["tokens_evaluated"], 5);
  const auto wrong = server_.ask("POST", "/completion", R"({"prompt":[97,"cd",-5],"n_predict":1})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(json_of(wrong)["error"]["param"], "prompt[2]");
}

TEST_F(Native, OnlyTheFieldsThatWereAskedFor) {
  const Json got = answer(
      R"(,"n_predict":3,"response_fields":["content","generation_settings/n_predict","no/such"])");
  EXPECT_EQ(got.size(), 2U);
  EXPECT_TRUE(got.contains("content"));
  EXPECT_EQ(got["generation_settings/n_predict"], 3);
}

TEST_F(Native, StopStringIsNamed) {
  const std::string text = answer(R"(,"n_predict":40,"cache_prompt":false)")["content"];
  const std::string word = text.substr(text.size() / 2, 1);
  const Json got =
      answer(R"(,"n_predict":40,"cache_prompt":false,"stop":[)" + Json(word).dump() + "]");
  EXPECT_EQ(got["stop_type"], "word");
  EXPECT_EQ(got["stopping_word"], word);
}

TEST_F(Native, IgnoringTheEndShowsInTheSettings) {
  const auto biases = [&](const std::string& fields) {
    return answer(R"(,"n_predict":1)" + fields)["generation_settings"]["logit_bias"];
  };
  EXPECT_EQ(biases("").size(), 0U);
  const Json ignored = biases(R"(,"ignore_eos":true)");
  ASSERT_GT(ignored.size(), 0U);
  EXPECT_TRUE(ignored[0]["bias"].is_null());
}

TEST_F(Native, ProgressBeginsBeforeReading) {
  const auto events = events_of(
      complete(R"(,"n_predict":1,"stream":true,"return_progress":true,"timings_per_token":true)"));
  const Json first = *parse_json(events.front());
  EXPECT_EQ(first["prompt_progress"]["processed"], first["prompt_progress"]["cache"]);
  EXPECT_EQ(first["timings"]["prompt_n"], 0);
  const Json second = *parse_json(events[1]);
  EXPECT_EQ(second["prompt_progress"]["processed"], second["prompt_progress"]["total"]);
}

TEST_F(Native, VerboseChatShowsItsPrompt) {
  const Json loud = json_of(server_.chat(R"(,"max_tokens":2,"verbose":true)"));
  EXPECT_NE(loud["__verbose"]["prompt"].get<std::string>().find("hello"), std::string::npos);
  EXPECT_FALSE(json_of(server_.chat(R"(,"max_tokens":2)")).contains("__verbose"));
}

TEST(NativeRequest, ResponseFieldsAreBounded) {
  const auto refused = [](const std::string& fields) {
    return !decode_native_request(R"({"prompt":"a","response_fields":)" + fields + "}", {}).ok();
  };
  std::string many = "[\"a\"";
  for (int i = 0; i < 64; ++i) many += ",\"a\"";
  EXPECT_TRUE(refused(many + "]"));
  EXPECT_TRUE(refused(R"([""])"));
  EXPECT_TRUE(refused("[\"" + std::string(257, 'a') + "\"]"));
  EXPECT_FALSE(refused(R"(["a/b"])"));
}

}  // namespace
}  // namespace holdfast::api
