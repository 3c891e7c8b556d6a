#include "api/quoted_chat.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/anthropic_request.h"
#include "api/json_fields.h"
#include "api/responses_request.h"
#include "engine/testing/fake.h"

namespace holdfast::api {
namespace {

constexpr SpaceKey kSpace{1, 2};
constexpr SpaceKey kOtherTenant{1, 3};

// --- a template that writes answers in its own way ----------------------------------

class TalkFormat final : public engine::ReplyFormat {};

// "<think>thoughts</think>words<call>name {json}</call>"
class TalkParser final : public engine::ReplyParser {
 public:
  std::vector<engine::ReplyDelta> feed(std::string_view text) override {
    text_ += text;
    return {};
  }
  std::vector<engine::ReplyDelta> finish() override {
    if (text_.starts_with("<think>")) {
      const std::size_t end = text_.find("</think>");
      reply_.reasoning = text_.substr(7, end - 7);
      text_.erase(0, end + 8);
    }
    const std::size_t call = text_.find("<call>");
    reply_.content = text_.substr(0, call);
    if (call == std::string::npos) return {};
    const std::size_t space = text_.find(' ', call);
    reply_.tool_calls.push_back({"", text_.substr(call + 6, space - call - 6),
                                 text_.substr(space + 1, text_.find("</call>") - space - 1)});
    return {};
  }
  const engine::Reply& reply() const override { return reply_; }

 private:
  std::string text_;
  engine::Reply reply_;
};

class TalkText final : public engine::TextModel {
 public:
  bool shows_thoughts = true;

  const engine::ModelCard& card() const override { return fake_.card(); }
  Tokens tokenize(std::string_view text, bool add, bool parse) const override {
    return fake_.tokenize(text, add, parse);
  }
  std::string piece(Token token, bool special) const override {
    return fake_.piece(token, special);
  }
  bool ends_generation(Token token) const override { return fake_.ends_generation(token); }
  std::vector<Tokens> turn_ends() const override { return fake_.turn_ends(); }
  Result<engine::RenderedChat> render(const engine::ChatInput& input) const override {
    engine::RenderedChat chat;
    for (const Json& message : Json::parse(input.messages_json)) {
      chat.prompt += "<s>" + message["role"].get<std::string>() + ":" + body_of(message) + "</s>";
    }
    chat.generation_prompt = "<s>assistant:";
    chat.prompt += chat.generation_prompt;
    chat.format = std::make_shared<const TalkFormat>();
    return chat;
  }
  std::vector<MessageSpan> message_spans(const engine::RenderedChat& chat,
                                         TokenSpan tokens) const override {
    return fake_.message_spans(chat, tokens);
  }
  Result<std::unique_ptr<engine::Sampler>> make_sampler(
      const engine::SamplingParams& params, const engine::ReplyFormat* format) const override {
    return fake_.make_sampler(params, format);
  }
  std::unique_ptr<engine::ReplyParser> make_parser(const engine::ReplyFormat&) const override {
    return std::make_unique<TalkParser>();
  }

 private:
  [[nodiscard]] std::string body_of(const Json& message) const {
    std::string text;
    if (shows_thoughts && message.contains("reasoning_content"))
      text += "<think>" + message["reasoning_content"].get<std::string>() + "</think>";
    text += message["content"].get<std::string>();
    if (!message.contains("tool_calls")) return text;
    const Json& call = message["tool_calls"][0]["function"];
    return text + "<call>" + call["name"].get<std::string>() + " " +
           Json::parse(call["arguments"].get<std::string>()).dump(1) + "</call>";
  }
  engine::FakeText fake_;
};

// --- conversations -------------------------------------------------------------------

const std::string kSampled = R"(<think> Hm. </think>Sure: <call>ls {"b":1,"a":"."}</call>)";

class QuotedChatTest : public ::testing::Test {
 protected:
  QuotedChatTest() : ids_(tier::random_secret()) {
    backend_.text = text_;
    backend_.history = &history_;
    backend_.answer_ids = &ids_;
    backend_.context_tokens = 4096;
  }

  // The model answered a first "hi" like this; its id.
  std::string answered(const std::string& sampled = kSampled, SpaceKey space = kSpace) {
    auto context = history_.tokenize(space, *text_, "<s>user:hi</s><s>assistant:").context;
    context.name = cache::AnswerIds::new_name();
    EXPECT_TRUE(history_.remember(context, *text_, text_->tokenize(sampled, false, false)));
    return ids_.make(space, context.name);
  }

  // `times`: how often the client sends the message.
  QuotedChat render(const std::string& blocks, SpaceKey space = kSpace, int times = 1) {
    std::string body = R"({"max_tokens":9,"messages":[{"role":"user","content":"hi"})";
    for (int i = 0; i < times; ++i) {
      body +=
          R"(,{"role":"assistant","content":[)" + blocks + R"(]},{"role":"user","content":"ok"})";
    }
    body += "]}";
    auto request = decode_messages_request(body, {});
    EXPECT_TRUE(request.ok()) << request.error().message;
    auto quoted = render_quoting(backend_, *request, space);
    EXPECT_TRUE(quoted.ok());
    return std::move(*quoted);
  }
  [[nodiscard]] std::uint64_t counted(cache::AnswerIdFate fate) const { return ids_.counted(fate); }

  std::shared_ptr<TalkText> text_ = std::make_shared<TalkText>();
  cache::TokenHistory history_;
  cache::AnswerIds ids_;
  Backend backend_;
};

std::string thinking(const std::string& thoughts, const std::string& id) {
  return Json{{"type", "thinking"}, {"thinking", thoughts}, {"signature", id}}.dump();
}
std::string text_block(const std::string& text) {
  return Json{{"type", "text"}, {"text", text}}.dump();
}
std::string tool_use(const std::string& input, const std::string& id = "toolu_1") {
  return R"({"type":"tool_use","id":")" + id + R"(","name":"ls","input":)" + input + "}";
}

TEST_F(QuotedChatTest, WhatTheClientSerialisedAgainIsReadAsItWasSampled) {
  const std::string id = answered();
  const auto quoted = render(thinking("Hm.", id) + "," + text_block("Sure:") + "," +
                             tool_use(R"({"a":".","b":1})"));
  EXPECT_EQ(quoted.chat.prompt,
            "<s>user:hi</s><s>assistant:" + kSampled + "</s><s>user:ok</s><s>assistant:");
  ASSERT_EQ(quoted.quotes.size(), 1U);
  EXPECT_EQ(text_->detokenize(quoted.quotes[0].ids), kSampled);
  EXPECT_EQ(quoted.ids_used, 1);
  EXPECT_EQ(counted(cache::AnswerIdFate::kUsed), 1U);
}

TEST_F(QuotedChatTest, TheIdOfACallIsEnough) {
  const std::string call = call_id_of(answered(), 0);
  EXPECT_LE(call.size(), 64U);
  const auto with = [&](const std::string& thoughts) {
    return render(thoughts + text_block("Sure:") + "," + tool_use(R"({"a":".","b":1})", call));
  };
  EXPECT_EQ(with(thinking("Hm.", "") + ",").ids_used, 1);
  EXPECT_EQ(with("").ids_used, 0) << "it says nothing of thoughts that the client left out";
  EXPECT_EQ(counted(cache::AnswerIdFate::kNotShown), 1U);
}

// "display": "omitted", and clients that keep summaries alone.
TEST_F(QuotedChatTest, ASignatureStandsForThoughtsThatAreNotThere) {
  const std::string id = answered();
  const auto quoted =
      render(thinking("", id) + "," + text_block("Sure:") + "," + tool_use(R"({"a":".","b":1})"));
  EXPECT_EQ(quoted.ids_used, 1);
  EXPECT_NE(quoted.chat.prompt.find(kSampled), std::string::npos);
}

TEST_F(QuotedChatTest, AnEditedMessageIsReadAsItIs) {
  const std::string id = answered();
  const std::string sure = text_block("Sure:") + ",";
  const std::string arguments = R"({"a":".","b":1})";
  const std::string edits[] = {
      thinking("Hm!", id) + "," + sure + tool_use(arguments),
      thinking("Hm.", id) + "," + text_block("No:") + "," + tool_use(arguments),
      thinking("Hm.", id) + "," + sure + tool_use(R"({"a":"..","b":1})"),
      thinking("Hm.", id) + "," + sure + tool_use(R"({"a":"."})"),
      thinking("Hm.", id) + "," + text_block("Sure:"),
      thinking("", id) + "," + text_block("No:") + "," + tool_use(arguments),
  };
  std::uint64_t edited = 0;
  for (const std::string& blocks : edits) {
    const auto quoted = render(blocks);
    EXPECT_TRUE(quoted.quotes.empty()) << blocks;
    EXPECT_EQ(quoted.chat.prompt.find(kSampled), std::string::npos) << blocks;
    EXPECT_EQ(quoted.ids_ignored, 1);
    EXPECT_EQ(counted(cache::AnswerIdFate::kEdited), ++edited) << blocks;
  }
}

TEST_F(QuotedChatTest, WhatTheTemplateLeavesOutStaysOut) {
  text_->shows_thoughts = false;
  const auto quoted = render(thinking("Hm.", answered()) + "," + text_block("Sure:") + "," +
                             tool_use(R"({"a":".","b":1})"));
  EXPECT_EQ(quoted.chat.prompt.find("Hm."), std::string::npos);
  EXPECT_EQ(counted(cache::AnswerIdFate::kNotShown), 1U);
}

TEST_F(QuotedChatTest, BadIdsChangeNothingAndAreCounted) {
  const std::string rest = "," + text_block("Sure:") + "," + tool_use(R"({"a":".","b":1})");
  const std::string plain = render(thinking("Hm.", "") + rest).chat.prompt;
  const std::string id = answered();
  const auto prompt_with = [&](const std::string& signature, SpaceKey space = kSpace) {
    const auto quoted = render(thinking("Hm.", signature) + rest, space);
    EXPECT_EQ(quoted.ids_ignored, 1) << signature;
    return quoted.chat.prompt;
  };
  std::string forged = id;
  forged[40] = forged[40] == 'x' ? 'y' : 'x';
  EXPECT_EQ(prompt_with(forged), plain);
  EXPECT_EQ(counted(cache::AnswerIdFate::kForged), 1U);
  EXPECT_EQ(prompt_with("ErUB3c..."), plain);
  EXPECT_EQ(prompt_with(id, kOtherTenant), plain);
  EXPECT_EQ(counted(cache::AnswerIdFate::kForeign), 2U);
  history_.clear();
  EXPECT_EQ(prompt_with(id), plain);
  EXPECT_EQ(counted(cache::AnswerIdFate::kStale), 1U);
}

// A few bytes that stand for many: without a bound a small request takes all memory.
TEST_F(QuotedChatTest, AnIdIsUsedOnceInARequest) {
  const std::string blocks =
      thinking("", answered()) + "," + text_block("Sure:") + "," + tool_use(R"({"a":".","b":1})");
  const auto quoted = render(blocks, kSpace, 5);
  EXPECT_EQ(quoted.ids_used, 1);
  EXPECT_EQ(counted(cache::AnswerIdFate::kSurplus), 4U);
  const std::size_t first = quoted.chat.prompt.find("Hm.");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(quoted.chat.prompt.find("Hm.", first + 1), std::string::npos);
}

TEST_F(QuotedChatTest, AnswersThatFillMoreThanAFewContextsAreReadAsTheyAreSent) {
  const std::string blocks = thinking("Hm.", answered()) + "," + text_block("Sure:") + "," +
                             tool_use(R"({"a":".","b":1})");
  const auto tokens = length_of(text_->tokenize(kSampled, false, false));
  backend_.context_tokens = tokens / kQuotedContexts;
  EXPECT_EQ(render(blocks).ids_used, tokens % kQuotedContexts == 0 ? 1 : 0);
  backend_.context_tokens = tokens / kQuotedContexts + 1;
  EXPECT_EQ(render(blocks).ids_used, 1);
  backend_.context_tokens = tokens / kQuotedContexts - 1;
  EXPECT_EQ(render(blocks).ids_used, 0);
  EXPECT_GE(counted(cache::AnswerIdFate::kSurplus), 1U);
}

// --- how the ids come in ---------------------------------------------------------------

TEST(AnswerRefs, AreReadFromResponses) {
  const std::string body = R"({"instructions":"x","input":[
      {"role":"user","content":"hi"},
      {"type":"reasoning","summary":[],"content":null,"encrypted_content":"hf1_abc"},
      {"type":"function_call","call_id":"c","name":"ls","arguments":"{}"},
      {"type":"function_call_output","call_id":"c","output":"."},
      {"type":"reasoning","summary":[],"encrypted_content":"hf1_nothing_follows"},
      {"role":"user","content":"and?"}]})";
  const auto request = decode_responses_request(body, {}, {});
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request->chat.answer_refs.size(), 1U);
  EXPECT_EQ(request->chat.answer_refs[0].message, 2U);
  EXPECT_EQ(request->chat.answer_refs[0].id, "hf1_abc");
  EXPECT_TRUE(request->chat.answer_refs[0].for_thoughts);
  EXPECT_EQ(Json::parse(request->chat.input.messages_json).size(), 5U)
      << "thoughts that nobody can read are no message";
}

TEST(AnswerRefs, AreReadFromCallsOfChats) {
  const std::string id = cache::AnswerIds(tier::random_secret()).make(kSpace, {});
  const std::string body =
      R"({"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,
      "tool_calls":[{"id":"call_other","type":"function","function":{"name":"a","arguments":"{}"}},
                    {"id":")" +
      call_id_of(id, 1) +
      R"(","type":"function","function":{"name":"b","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"call_other","content":"x"}]})";
  const auto request = decode_chat_request(body, {});
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request->answer_refs.size(), 1U);
  EXPECT_EQ(request->answer_refs[0].message, 1U);
  EXPECT_EQ(request->answer_refs[0].id, id);
  EXPECT_FALSE(request->answer_refs[0].for_thoughts);
}

}  // namespace
}  // namespace holdfast::api
