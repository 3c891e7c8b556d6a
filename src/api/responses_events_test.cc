#include "api/responses_events.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

// One response, its ids counted: rs_0, msg_1, ...
class Written {
 public:
  Written()
      : events_({"resp_1", 1700000000, "m", R"("tools":[])"}, {"patch"},
                [this](const std::string& prefix) { return prefix + std::to_string(ids_++); }) {}

  Written& think(const std::string& text) { return add({.reasoning = text}); }
  Written& say(const std::string& text) { return add({.content = text}); }
  Written& call(std::size_t index, const std::string& name, const std::string& arguments) {
    engine::ReplyDelta delta;
    delta.tool_index = index;
    if (!name.empty()) delta.tool.id = "call_" + std::to_string(index);
    delta.tool.name = name;
    delta.tool.arguments = arguments;
    return add(delta);
  }
  Written& add(const engine::ReplyDelta& delta) {
    events_.add(delta, out_);
    EXPECT_EQ(events_.check(), std::vector<std::string>{});
    return *this;
  }
  Written& open() {
    events_.open(out_);
    return *this;
  }
  Written& close_item(std::string_view status) {
    events_.close_item(status, out_);
    EXPECT_EQ(events_.check(), std::vector<std::string>{});
    return *this;
  }
  Written& close(const ResponseState& state) {
    events_.close(state, out_);
    return *this;
  }

  ResponseEvents& events() { return events_; }

  // Verifies the frame of each event and REV-3.
  std::vector<Json> parsed() const {
    std::vector<Json> all;
    std::size_t at = 0;
    while (at < out_.size()) {
      const std::size_t end = out_.find("\n\n", at);
      const std::string frame = out_.substr(at, end - at);
      const std::size_t data = frame.find("\ndata: ");
      all.push_back(*parse_json(frame.substr(data + 7)));
      EXPECT_EQ(frame.substr(0, data), "event: " + all.back()["type"].get<std::string>());
      EXPECT_EQ(all.back()["sequence_number"], all.size() - 1) << "REV-3";
      at = end + 2;
    }
    return all;
  }
  std::vector<std::string> types() const {
    std::vector<std::string> names;
    for (const Json& event : parsed()) names.push_back(event["type"]);
    return names;
  }

 private:
  int ids_ = 0;
  ResponseEvents events_;
  std::string out_;
};

using Types = std::vector<std::string>;

TEST(ResponseEvents, AMessageFromItsFirstWordToItsLast) {
  Written written;
  written.open().say("He").say("llo").close_item("completed");
  EXPECT_EQ(written.types(),
            (Types{"response.created", "response.in_progress", "response.output_item.added",
                   "response.content_part.added", "response.output_text.delta",
                   "response.output_text.delta", "response.output_text.done",
                   "response.content_part.done", "response.output_item.done"}));
  const auto events = written.parsed();
  EXPECT_EQ(events[0]["response"]["id"], "resp_1");
  EXPECT_EQ(events[0]["response"]["status"], "in_progress");
  EXPECT_EQ(events[2]["item"], *parse_json(R"({"id":"msg_0","type":"message",
      "status":"in_progress","role":"assistant","content":[]})"));
  EXPECT_EQ(events[5], *parse_json(R"({"type":"response.output_text.delta","sequence_number":5,
      "item_id":"msg_0","output_index":0,"content_index":0,"delta":"llo","logprobs":[]})"));
  EXPECT_EQ(events[6]["text"], "Hello");
  EXPECT_EQ(events[7]["part"]["text"], "Hello");
  EXPECT_EQ(events[8]["output_index"], 0);
  EXPECT_EQ(events[8]["item"], *parse_json(R"({"id":"msg_0","type":"message",
      "status":"completed","role":"assistant",
      "content":[{"type":"output_text","text":"Hello","annotations":[],"logprobs":[]}]})"));
}

TEST(ResponseEvents, ThoughtsAreAnItemOfTheirOwn) {
  Written written;
  written.think("hm").say("x").close_item("completed");
  const auto events = written.parsed();
  EXPECT_EQ(written.types(), (Types{"response.output_item.added", "response.content_part.added",
                                    "response.reasoning_text.delta", "response.reasoning_text.done",
                                    "response.content_part.done", "response.output_item.done",
                                    "response.output_item.added", "response.content_part.added",
                                    "response.output_text.delta", "response.output_text.done",
                                    "response.content_part.done", "response.output_item.done"}));
  EXPECT_EQ(events[2]["content_index"], 0) << "Codex drops deltas of reasoning without it";
  EXPECT_EQ(events[5]["item"], *parse_json(R"({"id":"rs_0","type":"reasoning","status":"completed",
      "summary":[],"encrypted_content":null,"content":[{"type":"reasoning_text","text":"hm"}]})"));
  EXPECT_EQ(events[6]["output_index"], 1);
}

TEST(ResponseEvents, CallsStreamTheirArguments) {
  Written written;
  written.call(0, "f", "").call(0, "", "{\"a\":").call(0, "", "1}").call(1, "f", "{}");
  written.close_item("completed");
  const Types one = {"response.output_item.added", "response.function_call_arguments.delta",
                     "response.function_call_arguments.done", "response.output_item.done"};
  EXPECT_EQ(written.types(),
            (Types{one[0], one[1], one[1], one[2], one[3], one[0], one[1], one[2], one[3]}));
  const auto events = written.parsed();
  EXPECT_EQ(events[0]["item"], *parse_json(R"({"id":"fc_0","type":"function_call",
      "status":"in_progress","call_id":"call_0","name":"f","arguments":""})"));
  EXPECT_FALSE(events[1].contains("content_index"));
  EXPECT_EQ(events[3]["arguments"], R"({"a":1})");
  EXPECT_EQ(events[4]["item"]["arguments"], R"({"a":1})");
  EXPECT_EQ(events[8]["item"]["call_id"], "call_1");
  EXPECT_EQ(events[8]["output_index"], 1);
}

TEST(ResponseEvents, ACustomToolsInputIsShownWithoutItsJson) {
  Written written;
  written.call(0, "patch", "{\"input\":").call(0, "", "\"*** Begin\"}").close_item("completed");
  EXPECT_EQ(written.types(),
            (Types{"response.output_item.added", "response.custom_tool_call_input.delta",
                   "response.custom_tool_call_input.done", "response.output_item.done"}));
  const auto events = written.parsed();
  EXPECT_EQ(events[1]["delta"], "*** Begin");
  EXPECT_EQ(events[2]["input"], "*** Begin");
  EXPECT_EQ(events[3]["item"], *parse_json(R"({"id":"ctc_0","type":"custom_tool_call",
      "status":"completed","call_id":"call_0","name":"patch","input":"*** Begin"})"));
}

TEST(ResponseEvents, CustomInputOfAnyOtherShapeIsTheArguments) {
  EXPECT_EQ(custom_input(R"({"input":"x"})"), "x");
  EXPECT_EQ(custom_input(R"({"input":7})"), R"({"input":7})");
  EXPECT_EQ(custom_input(R"({"inp)"), R"({"inp)");
  EXPECT_EQ(custom_input(R"(["x"])"), R"(["x"])");
}

TEST(ResponseEvents, TextAfterACallIsANewItem) {
  Written written;
  written.say("a").call(0, "f", "{}").say("b").close_item("incomplete");
  ASSERT_EQ(written.events().items().size(), 3U);
  EXPECT_EQ(written.events().items()[1].status, "completed");
  EXPECT_EQ(written.events().items()[2].text, "b");
  EXPECT_EQ(written.events().items()[2].status, "incomplete") << "REV-2";
}

TEST(ResponseEvents, LlamaServersFieldsComeWhereTheyWereAskedFor) {
  Written written;
  std::string out;
  const serve::Timings timings{.prompt_tokens = 7};
  written.events().in_progress({.total = 9, .cached = 2, .processed = 5}, &timings, out);
  written.events().add({.content = "x"}, out, &timings);
  written.events().add({.content = "y"}, out);
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (auto at = out.find(part); at != out.npos; at = out.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(R"("prompt_progress":{"total":9,"cache":2,"processed":5)"), 1U) << out;
  EXPECT_EQ(count(R"("timings":{)"), 2U) << out;
}

TEST(ResponseEvents, TheEndCarriesOutputAndUsage) {
  Written written;
  written.say("x").close_item("completed");
  ResponseState state{.status = "completed", .output = &written.events().items()};
  state.usage = ResponseUsage{100, 90, 20, 5};
  const Json end = written.close(state).parsed().back();
  EXPECT_EQ(end["type"], "response.completed");
  const Json& response = end["response"];
  EXPECT_EQ(response["object"], "response");
  EXPECT_EQ(response["created_at"], 1700000000);
  EXPECT_EQ(response["output"][0]["content"][0]["text"], "x");
  EXPECT_EQ(response["usage"], *parse_json(R"({"input_tokens":100,
      "input_tokens_details":{"cached_tokens":90,"cache_write_tokens":0},"output_tokens":20,
      "output_tokens_details":{"reasoning_tokens":5},"total_tokens":120})"));
  EXPECT_EQ(response["error"], nullptr);
  EXPECT_EQ(response["incomplete_details"], nullptr);
  EXPECT_EQ(response["tools"], Json::array()) << "what the request said";
}

TEST(ResponseEvents, WhatIsCutOffSaysWhy) {
  Written written;
  const Json end = written.close({.status = "incomplete"}).parsed().back();
  EXPECT_EQ(end["type"], "response.incomplete");
  EXPECT_EQ(end["response"]["incomplete_details"]["reason"], "max_output_tokens");
}

TEST(ResponseEvents, FailuresCarryTheCodesThatCodexActsOn) {
  const auto code = [](ErrorCode error) {
    Written written;
    ResponseState state{.status = "failed"};
    state.error = Error{error, "why", ""};
    const Json end = written.close(state).parsed().back();
    EXPECT_EQ(end["type"], "response.failed");
    EXPECT_EQ(end["response"]["error"]["message"], "why");
    return end["response"]["error"]["code"].get<std::string>();
  };
  EXPECT_EQ(code(ErrorCode::kContextExceeded), "context_length_exceeded");
  EXPECT_EQ(code(ErrorCode::kUnavailable), "server_is_overloaded");
  EXPECT_EQ(code(ErrorCode::kTimeout), "rate_limit_exceeded");
  EXPECT_EQ(code(ErrorCode::kEngine), "server_error");
}

}  // namespace
}  // namespace holdfast::api
