// What MessageStyle writes for given deltas: MSG-1 to MSG-4.
#include "api/anthropic_style.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json_fields.h"
#include "engine/testing/fake.h"

namespace holdfast::api {
namespace {

using Deltas = std::vector<engine::ReplyDelta>;

engine::ReplyDelta thought(std::string text) {
  engine::ReplyDelta delta;
  delta.reasoning = std::move(text);
  return delta;
}
engine::ReplyDelta said(std::string text) {
  engine::ReplyDelta delta;
  delta.content = std::move(text);
  return delta;
}
engine::ReplyDelta called(std::size_t index, engine::ToolCall call) {
  engine::ReplyDelta delta;
  delta.tool_index = index;
  delta.tool = std::move(call);
  return delta;
}

// Finds the same deltas in whatever text it is given.
class ScriptedParser final : public engine::ReplyParser {
 public:
  explicit ScriptedParser(Deltas deltas) : deltas_(std::move(deltas)) {}
  Deltas feed(std::string_view) override {
    for (const engine::ReplyDelta& delta : deltas_) {
      reply_.reasoning += delta.reasoning;
      reply_.content += delta.content;
      if (!delta.tool_index) continue;
      if (*delta.tool_index == reply_.tool_calls.size())
        reply_.tool_calls.push_back(delta.tool);
      else
        reply_.tool_calls[*delta.tool_index].arguments += delta.tool.arguments;
    }
    return deltas_;
  }
  Deltas finish() override { return {}; }
  const engine::Reply& reply() const override { return reply_; }

 private:
  Deltas deltas_;
  engine::Reply reply_;
};

class ScriptedText final : public engine::TextModel {
 public:
  explicit ScriptedText(Deltas deltas) : deltas_(std::move(deltas)) {}
  const engine::ModelCard& card() const override { return fake_.card(); }
  Tokens tokenize(std::string_view text, bool special, bool parse) const override {
    return fake_.tokenize(text, special, parse);
  }
  std::string piece(Token token, bool special) const override {
    return fake_.piece(token, special);
  }
  bool ends_generation(Token token) const override { return fake_.ends_generation(token); }
  std::vector<Tokens> turn_ends() const override { return fake_.turn_ends(); }
  Result<engine::RenderedChat> render(const engine::ChatInput& input) const override {
    return fake_.render(input);
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
    return std::make_unique<ScriptedParser>(deltas_);
  }

 private:
  engine::FakeText fake_;
  Deltas deltas_;
};

serve::Finished ended(serve::FinishReason reason, std::string stop_string = "") {
  serve::Finished finished;
  finished.reason = reason;
  finished.stop_string = std::move(stop_string);
  finished.prompt_tokens = 100;
  finished.timings.cached_tokens = 90;
  finished.timings.predicted_tokens = 7;
  return finished;
}

// An answer that consists of the given deltas.
class Scripted {
 public:
  explicit Scripted(Deltas deltas) : text_(std::move(deltas)) {
    answer_.backend = std::make_shared<Backend>();
    answer_.options.model = "claude-local";
    answer_.options.stops = {"END"};
    answer_.id = "msg_1";
    answer_.readers.emplace_back(text_, &format_, false);
  }

  void mark_caching(bool marks) { answer_.options.marks_caching = marks; }
  std::vector<Json> stream(const serve::Finished& finished) {
    const auto style = make_message_style(answer_);
    std::string out;
    style->begin(out);
    style->on_deltas(0, answer_.readers[0].on_text({}), nullptr, out);
    style->keep_alive(out);
    style->on_deltas(0, answer_.readers[0].on_finished(finished), nullptr, out);
    style->on_finished(0, out);
    style->end(out);
    return events_in(out);
  }
  // Signs of life, before something could be seen and after it.
  std::string silence(int before, int after = 0) {
    const auto style = make_message_style(answer_);
    std::string unseen;
    std::string out;
    style->begin(unseen);
    for (int i = 0; i < before; ++i) style->keep_alive(out);
    style->on_deltas(0, answer_.readers[0].on_text({}), nullptr, unseen);
    for (int i = 0; i < after; ++i) style->keep_alive(out);
    return out;
  }
  Json whole(const serve::Finished& finished) {
    serve::TextDelta text;
    text.text = "any";
    answer_.readers[0].keep_text(text);
    (void)answer_.readers[0].on_finished(finished);
    return Json::parse(make_message_style(answer_)->whole());
  }

 private:
  // Each event's name has to be its type.
  static std::vector<Json> events_in(const std::string& out) {
    std::vector<Json> events;
    std::size_t at = 0;
    while (at < out.size()) {
      const std::size_t name_end = out.find('\n', at);
      const std::size_t end = out.find("\n\n", at);
      EXPECT_EQ(out.compare(at, 7, "event: "), 0);
      EXPECT_EQ(out.compare(name_end, 7, "\ndata: "), 0);
      events.push_back(Json::parse(out.substr(name_end + 7, end - name_end - 7)));
      EXPECT_EQ(events.back()["type"], out.substr(at + 7, name_end - at - 7));
      at = end + 2;
    }
    return events;
  }

  ScriptedText text_;
  engine::ReplyFormat format_;
  AnswerUnderWay answer_;
};

Json input_of(const Json& block) {
  const std::string json = block.value("partial_json", "");
  return json.empty() ? Json::object() : Json::parse(json);
}

// The blocks that a client builds; fails where MSG-2 is broken.
Json joined_blocks(const std::vector<Json>& events) {
  Json blocks = Json::array();
  bool open = false;
  for (const Json& event : events) {
    if (event["type"] == "content_block_start") {
      EXPECT_EQ(event["index"], blocks.size()) << "MSG-2";
      EXPECT_FALSE(std::exchange(open, true)) << "MSG-2";
      blocks.push_back(event["content_block"]);
    } else if (event["type"] == "content_block_delta") {
      EXPECT_TRUE(open && event["index"] == blocks.size() - 1) << "MSG-2";
      for (const auto& [name, value] : event["delta"].items())
        if (name != "type")
          blocks.back()[name] = blocks.back().value(name, "") + value.get<std::string>();
    } else if (event["type"] == "content_block_stop") {
      EXPECT_TRUE(std::exchange(open, false)) << "MSG-2";
      if (blocks.back()["type"] != "tool_use") continue;
      blocks.back()["input"] = input_of(blocks.back());
      blocks.back().erase("partial_json");
    }
  }
  EXPECT_FALSE(open) << "MSG-2";
  return blocks;
}

const Deltas kEverything = {thought("I sh"),
                            thought("ould look."),
                            said("\n"),
                            said("Let me "),
                            said("look."),
                            called(0, {"call_a", "look", ""}),
                            called(0, {"", "", R"({"at":)"}),
                            called(0, {"", "", "1}"}),
                            called(1, {"call_b", "touch", "{}"})};

TEST(AnthropicStyle, Msg1BeginsWithTheMessageAndEndsWithItsReason) {
  const auto events = Scripted(kEverything).stream(ended(serve::FinishReason::kStopToken));
  const Json& message = events.front()["message"];
  EXPECT_EQ(events.front()["type"], "message_start");
  EXPECT_EQ(message["id"], "msg_1");
  EXPECT_EQ(message["model"], "claude-local");
  EXPECT_EQ(message["content"], Json::array());
  EXPECT_EQ(message["stop_reason"], nullptr);
  const Json& delta = events[events.size() - 2];
  EXPECT_EQ(delta["type"], "message_delta");
  EXPECT_EQ(delta["delta"], (Json{{"stop_reason", "tool_use"}, {"stop_sequence", nullptr}}));
  EXPECT_EQ(delta["usage"], (Json{{"input_tokens", 10},
                                  {"cache_creation_input_tokens", 0},
                                  {"cache_read_input_tokens", 90},
                                  {"output_tokens", 7}}));
  EXPECT_EQ(events.back()["type"], "message_stop");
}

TEST(AnthropicStyle, WhatIsKeptIsCountedForThoseWhoMarkIt) {
  cache::Receipt receipt;
  receipt.restored = 90;
  receipt.kept = 96;
  serve::Finished finished = ended(serve::FinishReason::kStopToken);
  finished.receipt = std::make_shared<const cache::Receipt>(receipt);
  const auto usage = [&](bool marks) {
    Scripted scripted({said("x")});
    scripted.mark_caching(marks);
    return scripted.whole(finished)["usage"];
  };
  EXPECT_EQ(usage(true), (Json{{"input_tokens", 4},
                               {"cache_creation_input_tokens", 6},
                               {"cache_read_input_tokens", 90},
                               {"output_tokens", 7}}));
  EXPECT_EQ(usage(false)["input_tokens"], 10);
  EXPECT_EQ(usage(false)["cache_creation_input_tokens"], 0);
  receipt.kept = 64;  // nothing of what was read
  finished.receipt = std::make_shared<const cache::Receipt>(receipt);
  EXPECT_EQ(usage(true)["cache_creation_input_tokens"], 0);
}

TEST(AnthropicStyle, Msg3AStreamsBlocksAreTheWholeAnswers) {
  const auto finished = ended(serve::FinishReason::kStopToken);
  const Json blocks = joined_blocks(Scripted(kEverything).stream(finished));
  const Json whole = Scripted(kEverything).whole(finished);
  EXPECT_EQ(whole["content"], blocks);
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[0],
            (Json{{"type", "thinking"}, {"thinking", "I should look."}, {"signature", "msg_1"}}));
  EXPECT_EQ(blocks[1], (Json{{"type", "text"}, {"text", "\nLet me look."}}));
  EXPECT_EQ(blocks[2]["input"], (Json{{"at", 1}}));
  EXPECT_EQ(blocks[3]["id"], "call_b");
  EXPECT_EQ(whole["stop_reason"], "tool_use");
  EXPECT_EQ(whole["role"], "assistant");
}

TEST(AnthropicStyle, Msg4BlankTextIsNoBlock) {
  const Deltas blank = {said("\n"), said("\n"), called(0, {"call_a", "look", "{}"})};
  const auto finished = ended(serve::FinishReason::kStopToken);
  EXPECT_EQ(joined_blocks(Scripted(blank).stream(finished)).size(), 1U);
  EXPECT_EQ(Scripted(blank).whole(finished)["content"].size(), 1U);
}

TEST(AnthropicStyle, ArgumentsThatAreNoObjectAreWrapped) {
  const Deltas broken = {called(0, {"call_a", "look", R"({"at":)"})};
  const Json whole = Scripted(broken).whole(ended(serve::FinishReason::kMaxTokens));
  EXPECT_EQ(whole["content"][0]["input"], (Json{{"raw_arguments", R"({"at":)"}}));
  EXPECT_EQ(whole["stop_reason"], "max_tokens");
}

TEST(AnthropicStyle, WhyAnAnswerEnded) {
  const auto reason = [](const serve::Finished& finished) {
    const Json whole = Scripted({said("x")}).whole(finished);
    return std::pair(whole["stop_reason"], whole["stop_sequence"]);
  };
  using serve::FinishReason;
  EXPECT_EQ(reason(ended(FinishReason::kStopToken)), (std::pair<Json, Json>("end_turn", nullptr)));
  EXPECT_EQ(reason(ended(FinishReason::kMaxTokens)),
            (std::pair<Json, Json>("max_tokens", nullptr)));
  EXPECT_EQ(reason(ended(FinishReason::kContextFull)),
            (std::pair<Json, Json>("max_tokens", nullptr)));
  EXPECT_EQ(reason(ended(FinishReason::kStopString, "END")),
            (std::pair<Json, Json>("stop_sequence", "END")));
  // One that the template asks for is the end of a turn.
  EXPECT_EQ(reason(ended(FinishReason::kStopString, "<|end|>")),
            (std::pair<Json, Json>("end_turn", nullptr)));
}

TEST(AnthropicStyle, PingsWhileNothingHappens) {
  const auto events = Scripted({said("x")}).stream(ended(serve::FinishReason::kStopToken));
  EXPECT_EQ(std::ranges::count(events, Json{{"type", "ping"}}), 1);
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

TEST(AnthropicStyle, Msg5ALongSilenceHasFewPings) {
  const std::string silence = Scripted({said("x")}).silence(240);  // 20 minutes
  EXPECT_EQ(count_of(silence, "event: ping"), 29U);
  EXPECT_EQ(count_of(silence, "\n\n"), 29U) << "and nothing else";
  EXPECT_EQ(count_of(Scripted({said("x")}).silence(6), "event: ping"), 6U) << "at first many";
}

TEST(AnthropicStyle, Msg5WhatCanBeSeenBeginsTheCountAgain) {
  EXPECT_EQ(count_of(Scripted({said("x")}).silence(6, 6), "event: ping"), 12U);
}

}  // namespace
}  // namespace holdfast::api
