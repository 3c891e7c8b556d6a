// Replies that are read piece by piece, against a reader that reads all of the text each time.
#include "engine/llama/llama_reply.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "engine/llama/llama_config.h"

namespace holdfast::llama {
namespace {

const char* const kTools =
    R"([{"type":"function","function":{"name":"get_weather","description":"Weather of a city",
         "parameters":{"type":"object","properties":{"city":{"type":"string"}},
         "required":["city"]}}}])";

// Every delta in one line each; ids of calls are random.
struct Events {
  std::vector<std::string> lines;
  engine::Reply joined;

  void take(const std::vector<engine::ReplyDelta>& deltas) {
    for (const engine::ReplyDelta& delta : deltas) {
      if (!delta.tool_index) {
        lines.push_back("r:" + delta.reasoning + "|c:" + delta.content);
        joined.reasoning += delta.reasoning;
        joined.content += delta.content;
        continue;
      }
      lines.push_back("t" + std::to_string(*delta.tool_index) + ":" + delta.tool.name + "(" +
                      delta.tool.arguments);
      if (*delta.tool_index >= joined.tool_calls.size()) {
        joined.tool_calls.resize(*delta.tool_index + 1);
      }
      engine::ToolCall& call = joined.tool_calls.at(*delta.tool_index);
      call.name += delta.tool.name;
      call.arguments += delta.tool.arguments;
    }
  }
};

bool same(const engine::Reply& a, const engine::Reply& b) {
  return a.reasoning == b.reasoning && a.content == b.content &&
         std::ranges::equal(a.tool_calls, b.tool_calls,
                            [](const engine::ToolCall& x, const engine::ToolCall& y) {
                              return x.name == y.name && x.arguments == y.arguments;
                            });
}

// The measure: reads all of the text at each feed. What is new in it is reported.
class WholeTextReader {
 public:
  explicit WholeTextReader(const LlamaReplyFormat& format) : params_(format.parser()) {}

  std::vector<engine::ReplyDelta> feed(std::string_view text) {
    text_ += text;
    try {
      return advance_to(common_chat_parse(text_, true, params_));
    } catch (const std::exception&) {
      return {};
    }
  }

 private:
  static std::string added(const std::string& before, const std::string& now) {
    return now.starts_with(before) ? now.substr(before.size()) : "";
  }
  std::vector<engine::ReplyDelta> advance_to(const common_chat_msg& message) {
    std::vector<engine::ReplyDelta> deltas;
    engine::ReplyDelta reasoning;
    reasoning.reasoning = added(sent_.reasoning, message.reasoning_content);
    sent_.reasoning += reasoning.reasoning;
    if (!reasoning.reasoning.empty()) deltas.push_back(reasoning);
    engine::ReplyDelta content;
    content.content = added(sent_.content, message.content);
    sent_.content += content.content;
    if (!content.content.empty()) deltas.push_back(content);
    for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
      const common_chat_tool_call& call = message.tool_calls[i];
      engine::ReplyDelta delta;
      delta.tool_index = i;
      if (i >= sent_.tool_calls.size()) {
        const bool whole = !call.arguments.empty() || i + 1 < message.tool_calls.size();
        if (call.name.empty() || !whole) break;
        delta.tool = {"", call.name, call.arguments};
        sent_.tool_calls.push_back(delta.tool);
        deltas.push_back(delta);
        continue;
      }
      delta.tool.arguments = added(sent_.tool_calls[i].arguments, call.arguments);
      if (delta.tool.arguments.empty()) continue;
      sent_.tool_calls[i].arguments += delta.tool.arguments;
      deltas.push_back(delta);
    }
    return deltas;
  }

  common_chat_parser_params params_;
  std::string text_;
  engine::Reply sent_;
};

class LlamaReplyTest : public ::testing::Test {
 protected:
  static void TearDownTestSuite() {
    delete model_;
    model_ = nullptr;
  }
  static void SetUpTestSuite() {
    LlamaConfig config{.model_path = HOLDFAST_POCKET_MODEL_PATH, .context_tokens = 512};
    config.slots = 1;
    config.threads = 1;
    auto loaded = load_llama_model(config, nullptr);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    model_ = new LoadedModel(std::move(*loaded));
  }

  static std::shared_ptr<const LlamaReplyFormat> format_of(const engine::ChatInput& input) {
    auto chat = model_->text->render(input);
    if (!chat.ok()) return nullptr;
    return std::dynamic_pointer_cast<const LlamaReplyFormat>(chat->format);
  }
  static engine::ChatInput asking(bool tools, bool thinking) {
    engine::ChatInput input;
    input.messages_json = R"([{"role":"user","content":"Weather in Rome?"}])";
    if (tools) input.tools_json = kTools;
    input.enable_thinking = thinking;
    input.stream = true;
    return input;
  }

  static LoadedModel* model_;
};
LoadedModel* LlamaReplyTest::model_ = nullptr;

// Words, markers, parts of markers, calls that are whole and that are not.
std::string random_reply(std::minstd_rand& random) {
  static const std::string kParts[] = {
      "word",
      " another",
      "\n",
      "\n\n",
      "  ",
      "a < b",
      "<",
      "</",
      "<think>",
      "</think>",
      "</think>\n\n",
      "<tool",
      "<tool_call>",
      "</tool_call>",
      "{\"a\": [1, \"x\\n\"]}",
      "```",
      "[THINK]",
      "[TOOL_CALLS]",
      "<|channel|>final<|message|>",
      "<|end|>",
      "\xC3\xA9",
      "\xE4\xB8\x96",
      "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": "
      "{\"city\": \"Rome\"}}\n</tool_call>",
      "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome "
      "< Paris\n</parameter>\n</function>\n</tool_call>"};
  std::string reply;
  for (auto left = random() % 40; left > 0; --left) {
    const bool plain = random() % 3 != 0;
    reply += kParts[plain ? random() % 6 : random() % std::size(kParts)];
  }
  return reply;
}

// Feeds both the same pieces; what they report is the same each time.
void expect_same_events(const LlamaReplyFormat& format, const std::string& reply,
                        std::minstd_rand& random) {
  LlamaReplyParser parser(format);
  WholeTextReader measure(format);
  for (std::size_t at = 0; at < reply.size();) {
    const std::string piece = reply.substr(at, 1 + random() % 7);
    at += piece.size();
    Events now;
    Events expected;
    now.take(parser.feed(piece));
    expected.take(measure.feed(piece));
    ASSERT_EQ(now.lines, expected.lines) << "after " << reply.substr(0, at);
  }
  Events end;
  end.take(parser.finish());
}

TEST_F(LlamaReplyTest, ReportsWhatAReaderOfTheWholeTextReports) {
  for (const bool tools : {false, true}) {
    for (const bool thinking : {false, true}) {
      const auto format = format_of(asking(tools, thinking));
      ASSERT_NE(format, nullptr);
      for (unsigned seed = 1; seed <= 300 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::minstd_rand random(seed);
        expect_same_events(*format, random_reply(random), random);
      }
    }
  }
}

TEST_F(LlamaReplyTest, ContentUnderASchemaIsReportedTheSame) {
  engine::ChatInput input = asking(false, false);
  input.json_schema = R"({"type":"array","items":{"type":"object"}})";
  const auto format = format_of(input);
  ASSERT_NE(format, nullptr);
  std::minstd_rand random(1);
  expect_same_events(*format, R"([{"a": "b } ] c", "d": [1, 2]}, {"a": {"e": "f"}}, {}])", random);
}

std::string words(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) {
    text += i % 50 == 49 ? "\n\n" : i % 7 == 6 ? " <" : " word" + std::to_string(i);
  }
  return text;
}

// What the library reads of a reply in pieces of four bytes, about a token each.
std::uint64_t bytes_read_of(const LlamaReplyFormat& format, const std::string& reply) {
  LlamaReplyParser parser(format);
  Events events;
  for (std::size_t at = 0; at < reply.size(); at += 4) {
    events.take(parser.feed(reply.substr(at, 4)));
  }
  events.take(parser.finish());
  EXPECT_TRUE(same(events.joined, parser.reply()));
  return parser.bytes_parsed();
}

TEST_F(LlamaReplyTest, TheWorkIsLinear) {
  const auto format = format_of(asking(true, true));
  ASSERT_NE(format, nullptr);
  const auto thought_and_said = [](std::size_t bytes) {
    return words(bytes / 2) + "</think>\n\n" + words(bytes / 2);
  };
  const auto called = [](std::size_t bytes) {
    return "</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"" +
           std::string(bytes, 'x') + "\"}}\n</tool_call>";
  };
  const auto broken = [](std::size_t bytes) { return "</think>\n\n<tool_call>" + words(bytes); };
  const auto blank = [](std::size_t bytes) { return std::string(bytes, '\n'); };
  const std::function<std::string(std::size_t)> kinds[] = {thought_and_said, called, broken, blank};
  for (const auto& kind : kinds) {
    SCOPED_TRACE(kind(20));
    const std::uint64_t once = bytes_read_of(*format, kind(64 << 10));
    const std::uint64_t twice = bytes_read_of(*format, kind(128 << 10));
    EXPECT_LT(static_cast<double>(twice), 2.2 * static_cast<double>(once));
  }
  EXPECT_LT(bytes_read_of(*format, thought_and_said(64 << 10)), 100U * (64 << 10))
      << "a reader of the whole text reads 8000 times as much as there is";
}

}  // namespace
}  // namespace holdfast::llama
