// Call: one request under way, as its client sees it.
//
// It remembers what came, and whether that kept the order that EventSink promises.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "ask.h"
#include "engine/text.h"
#include "serve/request.h"

namespace holdfast::simulation {

class Call final : public serve::EventSink, public std::enable_shared_from_this<Call> {
 public:
  Call(Ask what, std::string name) : ask(std::move(what)), id(std::move(name)) {}

  void on_event(serve::Event event) override {
    if (ended()) disorder = "an event came after the end";
    if (auto* started = std::get_if<serve::Started>(&event)) {
      if (begun_) disorder = "it started twice";
      begun_ = true;
      slot = started->slot;
    } else if (auto* delta = std::get_if<serve::TextDelta>(&event)) {
      if (!begun_) disorder = "text came before the start";
      text += delta->text;
      if (!first && !delta->tokens.empty()) first = delta->tokens.front().sampled.token;
      ++deltas;
    } else if (auto* end = std::get_if<serve::Finished>(&event)) {
      if (!begun_) disorder = "it finished before it started";
      finished = std::move(*end);
    } else if (auto* end_of_it = std::get_if<serve::Failed>(&event)) {
      failed = std::move(end_of_it->error);
    }
  }
  [[nodiscard]] bool ended() const { return finished || failed; }

  [[nodiscard]] serve::GenerateRequest request(const engine::TextModel& model) {
    serve::GenerateRequest made;
    made.id = id;
    made.client = made.tenant = ask.tenant;
    made.session = ask.session;
    made.space = ask.space;
    made.prompt = ask.prompt;
    made.spans = ask.spans;
    made.sampler = std::move(model.make_sampler({}, nullptr).value());
    made.max_tokens = ask.max_tokens;
    made.want_tokens = true;
    made.draft = ask.draft;
    made.stops = ask.stops;
    made.ignore_eos = ask.ignore_eos;
    made.reuse = ask.reuse;
    made.slot = ask.slot;
    made.timeout = ask.timeout;
    made.sink = shared_from_this();
    return made;
  }

  const Ask ask;
  const std::string id;
  std::string text;
  std::optional<Token> first;  // of the answer
  int deltas = 0;
  SlotId slot;
  std::optional<serve::Finished> finished;
  std::optional<Error> failed;
  std::string disorder;                      // a promise that was broken; empty: none
  bool cancelled = false;                    // by its client
  std::uint64_t engine_failures_before = 0;  // when it was submitted
  std::uint64_t engine_faults_before = 0;

 private:
  bool begun_ = false;
};

}  // namespace holdfast::simulation
