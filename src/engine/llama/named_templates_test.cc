// Each template against the library's own code for its name.
#include "engine/llama/named_templates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "engine/llama/llama_config.h"
#include "llama.h"

namespace holdfast::llama {
namespace {

using Messages = std::vector<std::pair<std::string, std::string>>;

std::string expected(const std::string& name, const Messages& messages) {
  std::vector<llama_chat_message> chat;
  for (const auto& [role, content] : messages) chat.push_back({role.c_str(), content.c_str()});
  std::vector<char> out(8192);
  const int size = llama_chat_apply_template(name.c_str(), chat.data(), chat.size(), true,
                                             out.data(), static_cast<int>(out.size()));
  EXPECT_GT(size, 0) << name;
  return {out.data(), static_cast<std::size_t>(std::max(size, 0))};
}

std::string rendered(const engine::TextModel& text, const Messages& messages) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [role, content] : messages)
    list.push_back({{"role", role}, {"content", content}});
  engine::ChatInput input;
  input.messages_json = list.dump();
  const auto chat = text.render(input);
  EXPECT_TRUE(chat.ok()) << (chat.ok() ? "" : chat.error().message);
  return chat.ok() ? chat->prompt : "";
}

std::vector<Messages> conversations() {
  std::mt19937 random(5);
  const std::vector<std::string> contents = {"Hi", " spaces around \n", "two\n\nlines", "{{ x }}",
                                             "it's \"quoted\" \\n"};
  std::vector<Messages> all;
  for (int i = 0; i < 20; ++i) {
    Messages messages;
    const auto say = [&](const char* role) {
      messages.emplace_back(role, contents[random() % contents.size()]);
    };
    if (random() % 2 == 0) say("system");
    for (unsigned turns = random() % 3; turns > 0; --turns) {
      say("user");
      say("assistant");
    }
    say("user");
    all.push_back(messages);
  }
  return all;
}

class NamedTemplate : public testing::TestWithParam<const char*> {};

TEST_P(NamedTemplate, WritesWhatTheLibraryWrites) {
  LlamaConfig config{.model_path = HOLDFAST_POCKET_MODEL_PATH, .context_tokens = 512};
  config.slots = config.threads = 1;
  config.warm_up = false;
  config.chat_template = GetParam();
  const auto model = load_llama_model(config, nullptr);
  ASSERT_TRUE(model.ok()) << model.error().message;
  for (const Messages& messages : conversations())
    EXPECT_EQ(rendered(*model->text, messages), expected(GetParam(), messages));
}

INSTANTIATE_TEST_SUITE_P(All, NamedTemplate,
                         testing::Values("chatml", "llama3", "llama4", "phi3", "phi4", "zephyr",
                                         "command-r", "gemma"));

TEST(NamedTemplates, TextIsTakenAsItIs) {
  EXPECT_EQ(*template_named("{{ messages }}"), "{{ messages }}");
  EXPECT_EQ(*template_named(""), "");
}

TEST(NamedTemplates, ANameWithoutATemplateIsRefused) {
  const auto refused = template_named("monarch");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().param, "--chat-template");
  EXPECT_NE(refused.error().message.find("llama3"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::llama
