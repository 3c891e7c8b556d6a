// Answers that go on with white space, on the fake engine.
#include <gtest/gtest.h>

#include "serve/decoding.h"
#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

// FakeText, but most tokens show a line break.
class BlankText final : public engine::TextModel {
 public:
  // Tokens below this show a letter.
  explicit BlankText(Token letters) : letters_(letters) {}

  const engine::ModelCard& card() const override { return inner_.card(); }
  Tokens tokenize(std::string_view text, bool add, bool special) const override {
    return inner_.tokenize(text, add, special);
  }
  std::string piece(Token token, bool) const override { return token < letters_ ? "x" : "\n"; }
  bool ends_generation(Token) const override { return false; }
  std::vector<Tokens> turn_ends() const override { return inner_.turn_ends(); }
  Result<engine::RenderedChat> render(const engine::ChatInput& input) const override {
    return inner_.render(input);
  }
  std::vector<MessageSpan> message_spans(const engine::RenderedChat& chat,
                                         TokenSpan tokens) const override {
    return inner_.message_spans(chat, tokens);
  }
  Result<std::unique_ptr<engine::Sampler>> make_sampler(
      const engine::SamplingParams& params, const engine::ReplyFormat* format) const override {
    return inner_.make_sampler(params, format);
  }
  std::unique_ptr<engine::ReplyParser> make_parser(
      const engine::ReplyFormat& format) const override {
    return inner_.make_parser(format);
  }

 private:
  const engine::FakeText inner_;
  const Token letters_;
};

// Knows whether the answer ends in a call, and notes that it was asked.
class AskedRecorder final : public EventSink {
 public:
  explicit AskedRecorder(bool answer) : answer_(answer) {}
  void on_event(Event event) override { events_.on_event(std::move(event)); }
  bool ends_in_call(const std::string& text) const override {
    ++questions_;
    asked_ = text;
    return answer_;
  }

  Recorder events_;
  mutable int questions_ = 0;
  mutable std::string asked_;  // the latest

 private:
  const bool answer_;
};

struct BlankAnswer {
  Finished finished;
  std::string text;
  int questions = 0;
  std::string asked;
};

constexpr TokenPos kMost = 2000;

BlankAnswer answer(Token letters, bool ends_in_call, std::vector<std::string> stops = {}) {
  const BlankText text(letters);
  engine::FakeEngine engine({.slots = 1, .context_tokens = 4096});
  const env::SteadyClock clock;
  Scheduler scheduler(engine, text, {}, clock, {});
  GenerateRequest request;
  request.id = "one";
  request.prompt = text.tokenize("hello", true, true);
  request.sampler = std::move(text.make_sampler({}, nullptr).value());
  request.max_tokens = kMost;
  request.stops = std::move(stops);
  const auto recorder = std::make_shared<AskedRecorder>(ends_in_call);
  request.sink = recorder;
  EXPECT_TRUE(scheduler.submit(std::move(request)).ok());
  for (int i = 0; i < 10000 && !recorder->events_.ended(); ++i) scheduler.run_round();
  return {recorder->events_.finished_.value(), recorder->events_.text_, recorder->questions_,
          recorder->asked_};
}

TEST(BlankTail, EndsAnAnswerThatGoesOnAfterACall) {
  const BlankAnswer made = answer(0, true);
  EXPECT_EQ(made.finished.reason, FinishReason::kBlankTail);
  EXPECT_EQ(made.finished.timings.predicted_tokens, Decoding::kBlankTokensMax);
  EXPECT_EQ(made.text, std::string(512, '\n'));
  EXPECT_EQ(made.asked, made.text);
}

TEST(BlankTail, WithoutACallItGoesOnAndIsAskedOnce) {
  const BlankAnswer made = answer(0, false);
  EXPECT_EQ(made.finished.reason, FinishReason::kMaxTokens);
  EXPECT_EQ(made.finished.timings.predicted_tokens, kMost);
  EXPECT_EQ(made.questions, 1);
}

TEST(BlankTail, ALetterBeginsTheCountAgain) {
  const BlankAnswer made = answer('h', true);  // the fake engine writes 'a' to 'z'
  EXPECT_EQ(made.finished.reason, FinishReason::kMaxTokens);
  EXPECT_NE(made.text.find('x'), std::string::npos);
  EXPECT_EQ(made.questions, 0);
}

TEST(BlankTail, WhatAStopStringHoldsBackIsSentAtTheEnd) {
  std::string stop(600, '\n');
  stop.push_back('x');
  const BlankAnswer made = answer(0, true, {stop});
  EXPECT_EQ(made.finished.reason, FinishReason::kBlankTail);
  EXPECT_EQ(made.text, std::string(512, '\n'));
}

}  // namespace
}  // namespace holdfast::serve
