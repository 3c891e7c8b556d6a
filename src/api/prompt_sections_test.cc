#include "api/prompt_sections.h"

#include <gtest/gtest.h>

#include "api/anthropic_request.h"
#include "api/responses_request.h"
#include "engine/testing/fake.h"

namespace holdfast::api {
namespace {

// A turn as a template writes it: <s>role\ntext</s>
struct Turn {
  Role role = Role::kUnknown;
  std::string text;
};

struct Rendered {
  std::string text;
  Tokens tokens;
  std::vector<MessageSpan> spans;
};

Rendered render(const std::vector<Turn>& turns) {
  const engine::FakeText model;
  Rendered rendered;
  for (const Turn& turn : turns) {
    const std::string text = std::string("<s>") + role_name(turn.role) + "\n" + turn.text + "</s>";
    const Tokens tokens = model.tokenize(text, false, true);
    const TokenPos begin = length_of(rendered.tokens);
    rendered.tokens.insert(rendered.tokens.end(), tokens.begin(), tokens.end());
    rendered.text += text;
    rendered.spans.push_back({turn.role, begin, length_of(rendered.tokens)});
  }
  return rendered;
}

class Sections {
 public:
  Sections(const ChatRequest& request, const Rendered& rendered)
      : rendered_(rendered),
        sections_(prompt_sections(model_, request, rendered.spans, rendered.tokens)) {}

  // Of the token where `text` begins.
  [[nodiscard]] std::string at(const std::string& text) const {
    const std::size_t byte = rendered_.text.find(text);
    EXPECT_NE(byte, std::string::npos) << text;
    const auto position = length_of(model_.tokenize(rendered_.text.substr(0, byte), false, true));
    const cache::PromptSection* section = cache::section_at(sections_, position);
    return section == nullptr ? "none" : section->name.empty() ? "answer" : section_text(*section);
  }
  [[nodiscard]] const std::vector<cache::PromptSection>& all() const { return sections_; }

 private:
  const engine::FakeText model_;
  const Rendered& rendered_;
  const std::vector<cache::PromptSection> sections_;
};

ChatRequest chat(const std::string& json) {
  auto request = decode_chat_request(json, {});
  EXPECT_TRUE(request.ok()) << request.error().message;
  return std::move(*request);
}

ChatRequest message(const std::string& json) {
  auto request = decode_messages_request(json, {});
  EXPECT_TRUE(request.ok()) << request.error().message;
  return std::move(*request);
}

ChatRequest response(const std::string& json, const std::string& earlier = "[]") {
  const StoredTalk stored{[&](const auto&, const auto&) { return std::optional(earlier); }, {}};
  auto request = decode_responses_request(json, {}, stored);
  EXPECT_TRUE(request.ok()) << request.error().message;
  return std::move(request->chat);
}

using enum Role;

TEST(PromptSections, MessagesOfAChat) {
  const ChatRequest request = chat(R"({"messages":[{"role":"system","content":"Be kind."},
    {"role":"user","content":"Hello"},{"role":"assistant","content":"Hi","reasoning_content":"Hm"},
    {"role":"user","content":"Bye"}]})");
  const Rendered rendered = render({{kSystem, "Be kind."},
                                    {kUser, "Hello"},
                                    {kAssistant, "Hi"},
                                    {kUser, "Bye"},
                                    {kAssistant, ""}});
  const Sections sections(request, rendered);
  EXPECT_EQ(sections.at("kind"), "messages[0] (system)");
  EXPECT_EQ(sections.at("Hello"), "messages[1] (user)");
  EXPECT_EQ(sections.at("<s>assistant\nHi"), "messages[2] (assistant)");
  EXPECT_EQ(sections.at("Bye"), "messages[3] (user)");
  EXPECT_EQ(sections.at("<s>assistant\n</s>"), "answer");
  EXPECT_TRUE(sections.all()[2].has_reasoning && !sections.all()[2].in_last_turn);
  EXPECT_TRUE(sections.all()[4].in_last_turn);
}

constexpr const char* kTools =
    R"("tools":[{"type":"function","function":{"name":"read","parameters":{}}}])";

TEST(PromptSections, ToolsBehindTheSystemTextOrBeforeIt) {
  const ChatRequest request =
      chat(std::string(R"({"messages":[{"role":"system","content":"Be kind."},
    {"role":"user","content":"Hello"}],)") +
           kTools + "}");
  const std::string list = "# Tools that you may call\n{\"name\": \"read\"}";
  const Rendered behind = render({{kSystem, "Be kind.\n\n" + list}, {kUser, "Hello"}});
  EXPECT_EQ(Sections(request, behind).at("kind"), "messages[0] (system)");
  EXPECT_EQ(Sections(request, behind).at("{\"name"), "tools");
  EXPECT_EQ(Sections(request, behind).at("Hello"), "messages[1] (user)");
  const Rendered before = render({{kSystem, list + "\n\nBe kind."}, {kUser, "Hello"}});
  EXPECT_EQ(Sections(request, before).at("{\"name"), "tools");
  EXPECT_EQ(Sections(request, before).at("kind"), "messages[0] (system)");
  EXPECT_EQ(Sections(request, before).at("Hello"), "messages[1] (user)");
}

// A text may repeat itself; its end is where it ends.
TEST(PromptSections, ASystemTextThatRepeatsItself) {
  const std::string rules(200, '.');
  const ChatRequest request = chat(R"({"messages":[{"role":"system","content":[
      {"type":"text","text":")" + rules +
                                   R"("},{"type":"text","text":"Monday )" + rules + R"("}]},
    {"role":"user","content":"Hello"}],)" +
                                   kTools + "}");
  const Rendered rendered =
      render({{kSystem, rules + "\nMonday " + rules + "\n\n# Tools"}, {kUser, "Hello"}});
  EXPECT_EQ(Sections(request, rendered).at("Monday"), "messages[0] (system)");
  EXPECT_EQ(Sections(request, rendered).at("Tools"), "tools");
}

TEST(PromptSections, ToolsWithoutASystemMessage) {
  const ChatRequest request =
      chat(std::string(R"({"messages":[{"role":"user","content":"Hello"}],)") + kTools + "}");
  const Rendered rendered = render({{kSystem, "# Tools\n{\"name\": \"read\"}"}, {kUser, "Hello"}});
  EXPECT_EQ(Sections(request, rendered).at("read"), "tools");
  EXPECT_EQ(Sections(request, rendered).at("Hello"), "messages[0] (user)");
}

// Claude Code: a field of its own for the system prompt, instructions in the middle that the
// template takes as the user's only, and several results in one message.
TEST(PromptSections, MessagesOfAnthropic) {
  const ChatRequest request = message(R"({"system":[
      {"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cch=1;"},
      {"type":"text","text":"You are an agent."},{"type":"text","text":"Work well."}],
    "messages":[{"role":"user","content":"Look"},
      {"role":"system","content":"Today is Monday."},
      {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},
        {"type":"tool_use","id":"t1","name":"ls","input":{}},
        {"type":"tool_use","id":"t2","name":"ls","input":{}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},
        {"type":"tool_result","tool_use_id":"t2","content":"two"},
        {"type":"text","text":"Go on"}]}]})");
  EXPECT_TRUE(request.attribution_removed);
  const Rendered rendered =
      render({{kSystem, "You are an agent.\nWork well."},
              {kUser, "Look"},
              {kUser, "<system-reminder>\nToday is Monday.\n</system-reminder>"},
              {kAssistant, "<tool_call>ls</tool_call>"},
              {kUser, "<tool_response>\none</tool_response>\n<tool_response>\ntwo</tool_response>"},
              {kUser, "Go on"}});
  const Sections sections(request, rendered);
  EXPECT_EQ(sections.at("agent"), "system");
  EXPECT_EQ(sections.at("well"), "system");
  EXPECT_EQ(sections.at("Look"), "messages[0] (user)");
  EXPECT_EQ(sections.at("Monday"), "messages[1] (system)");
  EXPECT_EQ(sections.at("ls"), "messages[2] (assistant)");
  EXPECT_EQ(sections.at("one"), "messages[3] (tool)");
  EXPECT_EQ(sections.at("two"), "messages[3] (tool)");
  EXPECT_EQ(sections.at("Go on"), "messages[3] (user)");
  EXPECT_TRUE(sections.all()[3].has_reasoning) << "the signature stands for it";
}

// Codex: instructions and developer messages become one, the items of a turn too.
TEST(PromptSections, ItemsOfAResponse) {
  const ChatRequest request = response(R"({"instructions":"You are Codex.","input":[
      {"role":"developer","content":"No network."},
      {"role":"user","content":"Look"},
      {"type":"reasoning","summary":null,"content":[{"type":"reasoning_text","text":"Hm"}]},
      {"type":"function_call","call_id":"c","name":"ls","arguments":"{}"},
      {"type":"web_search_call","id":"w"},
      {"type":"function_call_output","call_id":"c","output":"one"},
      {"role":"developer","content":"Be brief."},
      {"role":"user","content":"Go on"}]})");
  const Rendered rendered = render({{kSystem, "You are Codex.\n\nNo network."},
                                    {kUser, "Look"},
                                    {kAssistant, "<think>Hm</think><tool_call>ls</tool_call>"},
                                    {kUser, "<tool_response>\none</tool_response>"},
                                    {kSystem, "Be brief."},
                                    {kUser, "Go on"}});
  const Sections sections(request, rendered);
  EXPECT_EQ(sections.at("Codex"), "instructions");
  EXPECT_EQ(sections.at("network"), "input[0] (system)");
  EXPECT_EQ(sections.at("Look"), "input[1] (user)");
  EXPECT_EQ(sections.at("ls"), "input[2..3] (assistant)");
  EXPECT_EQ(sections.at("one"), "input[5] (tool)");
  EXPECT_EQ(sections.at("brief"), "input[6] (system)");
  EXPECT_EQ(sections.at("Go on"), "input[7] (user)");
  EXPECT_EQ(request.skipped, SkippedKinds{"web_search_call"});
}

TEST(PromptSections, WhatAnEarlierResponseSaid) {
  const ChatRequest request =
      response(R"({"previous_response_id":"resp_1","input":"Bye"})",
               R"([{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"}])");
  const Rendered rendered = render({{kUser, "Hello"}, {kAssistant, "Hi"}, {kUser, "Bye"}});
  EXPECT_EQ(Sections(request, rendered).at("Hello"), "previous_response_id");
  EXPECT_EQ(Sections(request, rendered).at("Hi"), "previous_response_id");
  EXPECT_EQ(Sections(request, rendered).at("Bye"), "input");
}

// Some templates mark nothing: then the texts are all there is to go by.
TEST(PromptSections, ATemplateWithoutMarks) {
  const ChatRequest request = chat(R"({"messages":[{"role":"user","content":"Hello"},
    {"role":"assistant","content":"Hi"},{"role":"user","content":"Bye"}]})");
  Rendered rendered = render({{kUser, "Hello"}, {kAssistant, "Hi"}, {kUser, "Bye"}});
  rendered.spans = {{kUnknown, 0, length_of(rendered.tokens)}};
  EXPECT_EQ(Sections(request, rendered).at("Hello"), "messages[0] (user)");
  EXPECT_EQ(Sections(request, rendered).at("Bye"), "messages[2] (user)");
}

TEST(PromptSections, AreInOrderWhateverTheTemplateDid) {
  const ChatRequest request = chat(R"({"messages":[{"role":"user","content":"a"},
    {"role":"assistant","content":""},{"role":"tool","tool_call_id":"c","content":"b"},
    {"role":"user","content":""}]})");
  for (const auto& turns :
       std::vector<std::vector<Turn>>{{},
                                      {{kUser, "z"}},
                                      {{kAssistant, "a"}},
                                      {{kSystem, "b a b"}, {kTool, "a"}, {kUser, "b"}}}) {
    const Rendered rendered = render(turns);
    const Sections sections(request, rendered);
    TokenPos before = 0;
    for (const cache::PromptSection& section : sections.all()) {
      EXPECT_LE(before, section.begin);
      EXPECT_LE(section.begin, length_of(rendered.tokens));
      before = section.begin;
    }
  }
}

}  // namespace
}  // namespace holdfast::api
