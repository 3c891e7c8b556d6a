#include "engine/render_limits.h"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

std::string array_of(const std::string& element, std::size_t count) {
  std::string json = "[";
  for (std::size_t i = 0; i < count; ++i) json += (i > 0 ? "," : "") + element;
  return json + "]";
}

ChatInput chat(std::string messages, std::string tools = "") {
  ChatInput input;
  input.messages_json = std::move(messages);
  input.tools_json = std::move(tools);
  return input;
}

TEST(RenderLimits, AnOrdinaryChatPasses) {
  EXPECT_TRUE(check_chat_size(chat(R"([{"role":"user","content":"Hi, [you] {there}"}])",
                                   array_of(R"({"type":"function"})", 128)),
                              {})
                  .ok());
}

TEST(RenderLimits, BytesNameTheFieldThatHasMost) {
  const std::string text(RenderLimits{}.bytes() / 2, 'x');
  ChatInput input = chat("[{\"content\":\"" + text + "\"}]");
  EXPECT_TRUE(check_chat_size(input, {}).ok());
  input.template_kwargs["x"] = '"' + text + " and some more text\"";
  const auto refused = check_chat_size(input, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().param, "chat_template_kwargs");
  EXPECT_NE(refused.error().message.find("--grammar-limit 2"), std::string::npos);
  EXPECT_TRUE(check_chat_size(input, {2}).ok());
}

TEST(RenderLimits, ValuesInStringsDoNotCount) {
  const std::size_t most = RenderLimits{}.values();
  EXPECT_TRUE(check_chat_size(chat("[\"" + std::string(most, ',') + "\\\"[[[\"]"), {}).ok());
  const auto refused = check_chat_size(chat(array_of("1", most + 1)), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().param, "messages");
}

TEST(RenderLimits, ToolsAreCounted) {
  const std::string tool = R"({"type":"function","function":{"parameters":{}}})";
  const std::size_t most = RenderLimits{}.tools();
  EXPECT_TRUE(check_chat_size(chat("[]", array_of(tool, most)), {}).ok());
  const auto refused = check_chat_size(chat("[]", array_of(tool, most + 1)), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().param, "tools");
}

}  // namespace
}  // namespace holdfast::engine
