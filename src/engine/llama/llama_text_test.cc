// Vocabulary, template, sampler and reply parser of the pocket model.
#include "engine/llama/llama_text.h"

#include <gtest/gtest.h>

#include "engine/llama/llama_config.h"

namespace holdfast::llama {
namespace {

class PocketText : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    LlamaConfig config{.model_path = HOLDFAST_POCKET_MODEL_PATH, .context_tokens = 512};
    config.slots = 1;
    config.threads = 1;
    auto loaded = load_llama_model(config, nullptr);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    model_ = new LoadedModel(std::move(*loaded));
  }
  static void TearDownTestSuite() {
    delete model_;
    model_ = nullptr;
  }
  [[nodiscard]] static const engine::TextModel& text() { return *model_->text; }

  static LoadedModel* model_;
};
LoadedModel* PocketText::model_ = nullptr;

const char* const kTools =
    R"([{"type":"function","function":{"name":"get_weather","description":"Weather of a city",
         "parameters":{"type":"object","properties":{"city":{"type":"string"}},
         "required":["city"]}}}])";

TEST_F(PocketText, CardSaysWhatTheFileIs) {
  EXPECT_EQ(text().card().architecture, "qwen35");
  EXPECT_EQ(text().card().file_type, "Q8_0");
  EXPECT_EQ(text().card().vocabulary, 4096);
  EXPECT_EQ(text().card().context_train, 32768);
}

TEST_F(PocketText, TokensGiveTheirTextBack) {
  const std::string original = "Grüße, 世界! <|im_start|>user\n";
  EXPECT_EQ(text().detokenize(text().tokenize(original, false, true)), original);
}

TEST_F(PocketText, ATurnEndsWithImEndAndItsNewline) {
  ASSERT_EQ(text().turn_ends().size(), 1U);
  EXPECT_EQ(text().detokenize(text().turn_ends()[0]), "<|im_end|>\n");
}

TEST_F(PocketText, MessageSpansCoverThePromptInOrder) {
  engine::ChatInput input;
  input.messages_json = R"([{"role":"system","content":"Be brief."},
    {"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},
    {"role":"user","content":"Bye"}])";
  const auto chat = text().render(input);
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  const Tokens tokens = text().tokenize(chat->prompt, true, true);
  const auto spans = text().message_spans(*chat, tokens);
  std::vector<Role> roles;
  TokenPos end = 0;
  for (const MessageSpan& span : spans) {
    roles.push_back(span.role);
    EXPECT_EQ(span.begin, end);
    end = span.end;
  }
  using enum Role;
  EXPECT_EQ(roles, (std::vector{kSystem, kUser, kAssistant, kUser, kAssistant}))
      << "the last is the header that opens the reply";
  EXPECT_EQ(end, length_of(tokens));
}

TEST_F(PocketText, ATemplateThatFailsIsAnErrorOfTheMessages) {
  engine::ChatInput input;
  input.messages_json = R"([{"role":"user"}])";
  const auto chat = text().render(input);
  ASSERT_FALSE(chat.ok());
  EXPECT_EQ(chat.error().param, "messages");
}

// The pocket model's own template raises nothing, the second one as Qwen3.5's does.
TEST_F(PocketText, SystemMessagesInTheMiddleStayThere) {
  engine::ChatInput input;
  input.messages_json = R"([{"role":"system","content":"one"},{"role":"user","content":"two"},
    {"role":"system","content":"three"},{"role":"user","content":"four"}])";
  const auto in_place = text().render(input);
  ASSERT_TRUE(in_place.ok()) << in_place.error().message;
  EXPECT_NE(in_place->prompt.find("<|im_start|>system\nthree<|im_end|>"), std::string::npos)
      << in_place->prompt;

  LlamaConfig config{.model_path = HOLDFAST_POCKET_MODEL_PATH, .context_tokens = 512};
  config.slots = 1;
  config.threads = 1;
  config.chat_template =
      "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
      "{{ raise_exception('System message must be at the beginning.') }}{% endif %}"
      "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  const auto strict = load_llama_model(config, nullptr);
  ASSERT_TRUE(strict.ok()) << strict.error().message;
  const auto reminded = strict->text->render(input);
  ASSERT_TRUE(reminded.ok()) << reminded.error().message;
  EXPECT_NE(reminded->prompt.find("<|im_start|>user\ntwo<|im_end|>\n<|im_start|>user\n"
                                  "<system-reminder>\nthree\n</system-reminder><|im_end|>\n"
                                  "<|im_start|>user\nfour<|im_end|>"),
            std::string::npos)
      << reminded->prompt;
}

// LLAMA-12 and similar traps: bad grammars are errors of the request, not of the process.
TEST_F(PocketText, BadGrammarsAreRefused) {
  for (const char* grammar : {"root ::= (", "%llguidance {}\nstart: \"a\"", "no root here"}) {
    engine::SamplingParams params;
    params.grammar = grammar;
    const auto sampler = text().make_sampler(params, nullptr);
    ASSERT_FALSE(sampler.ok()) << grammar;
    EXPECT_EQ(sampler.error().param, "grammar");
  }
  engine::SamplingParams params;
  params.json_schema = R"({"type":"no such type"})";
  const auto sampler = text().make_sampler(params, nullptr);
  ASSERT_FALSE(sampler.ok());
  EXPECT_EQ(sampler.error().param, "response_format");
}

TEST_F(PocketText, UnknownSamplersAreRefused) {
  engine::SamplingParams params;
  params.samplers = {"top_k", "magic"};
  const auto sampler = text().make_sampler(params, nullptr);
  ASSERT_FALSE(sampler.ok());
  EXPECT_EQ(sampler.error().param, "samplers");
}

engine::Reply parse_in_pieces(const engine::TextModel& text, const engine::RenderedChat& chat,
                              const std::string& reply, std::size_t piece,
                              engine::Reply& streamed) {
  const auto parser = text.make_parser(*chat.format);
  const auto take = [&](const std::vector<engine::ReplyDelta>& deltas) {
    for (const engine::ReplyDelta& delta : deltas) {
      streamed.reasoning += delta.reasoning;
      streamed.content += delta.content;
      if (!delta.tool_index) continue;
      if (*delta.tool_index == streamed.tool_calls.size()) {
        EXPECT_FALSE(delta.tool.name.empty()) << "the first delta of a call names it";
        EXPECT_FALSE(delta.tool.id.empty());
        streamed.tool_calls.push_back(delta.tool);
      } else {
        EXPECT_TRUE(delta.tool.name.empty());
        streamed.tool_calls.at(*delta.tool_index).arguments += delta.tool.arguments;
      }
    }
  };
  for (std::size_t at = 0; at < reply.size(); at += piece)
    take(parser->feed(reply.substr(at, piece)));
  take(parser->finish());
  return parser->reply();
}

TEST_F(PocketText, StreamedDeltasJoinToTheWholeReply) {
  engine::ChatInput input;
  input.messages_json = R"([{"role":"user","content":"Weather in Rome?"}])";
  input.tools_json = kTools;
  input.stream = true;
  const auto chat = text().render(input);
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  const std::string reply =
      "I should look.\n</think>\n\n<tool_call>\n"
      R"({"name": "get_weather", "arguments": {"city": "Rome"}})"
      "\n</tool_call>";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    engine::Reply streamed;
    const engine::Reply whole = parse_in_pieces(text(), *chat, reply, piece, streamed);
    EXPECT_EQ(streamed.reasoning, whole.reasoning);
    EXPECT_EQ(streamed.content, whole.content);
    ASSERT_EQ(whole.tool_calls.size(), 1U) << "in pieces of " << piece;
    ASSERT_EQ(whole.tool_calls.size(), streamed.tool_calls.size());
    EXPECT_EQ(whole.tool_calls[0].name, "get_weather");
    EXPECT_NE(whole.tool_calls[0].arguments.find("Rome"), std::string::npos);
    EXPECT_NE(whole.reasoning.find("I should look."), std::string::npos);
    for (std::size_t i = 0; i < whole.tool_calls.size(); ++i) {
      EXPECT_EQ(streamed.tool_calls[i].name, whole.tool_calls[i].name);
      EXPECT_EQ(streamed.tool_calls[i].arguments, whole.tool_calls[i].arguments);
    }
  }
}

TEST_F(PocketText, TextThatBreaksTheFormatIsNotLost) {
  engine::ChatInput input;
  input.messages_json = R"([{"role":"user","content":"?"}])";
  input.tools_json = kTools;
  input.enable_thinking = false;
  const auto chat = text().render(input);
  ASSERT_TRUE(chat.ok());
  engine::Reply streamed;
  const engine::Reply whole =
      parse_in_pieces(text(), *chat, "before <tool_call> {\"name\": \"get_wea", 4, streamed);
  EXPECT_NE(whole.content.find("before"), std::string::npos);
  EXPECT_NE(whole.content.find("get_wea"), std::string::npos) << "got: " << whole.content;
  EXPECT_EQ(streamed.content, whole.content);
}

}  // namespace
}  // namespace holdfast::llama
