// ResponsesStyle writes one answer as OpenAI's Responses API has it, and stores it where
// the request says so.
#pragma once

#include <memory>
#include <string>

#include "api/answer_style.h"
#include "api/answer_under_way.h"
#include "api/responses_events.h"
#include "api/responses_request.h"

namespace holdfast::api {

class ResponsesStyle final : public AnswerStyle {
 public:
  // `tenant`: whom the stored response belongs to. `answer` outlives this.
  ResponsesStyle(const AnswerUnderWay& answer, const ResponsesRequest& request, std::string tenant);

  [[nodiscard]] std::string whole() override;
  [[nodiscard]] bool begins_at_once() const override { return true; }
  // An agent shortens its conversation when a stream says that it is too long.
  [[nodiscard]] bool streams_refusal(const Error& error) const override {
    return error.code == ErrorCode::kContextExceeded;
  }
  void begin(std::string& out) override { events_.open(out); }
  void on_progress(std::size_t choice, const serve::PromptProgress& progress,
                   std::string& out) override;
  void on_deltas(std::size_t choice, const Deltas& deltas, const serve::Timings* timings,
                 std::string& out) override;
  void on_finished(std::size_t choice, std::string& out) override;
  // Comments would not do: Codex counts events.
  void keep_alive(std::string& out) override { events_.in_progress(out); }
  void end(std::string& out) override;
  void fail(const Error& error, std::string& out) override;

 private:
  [[nodiscard]] const ChoiceReader& reader() const { return answer_.readers.front(); }
  [[nodiscard]] bool complete() const;
  [[nodiscard]] ResponseUsage usage() const;
  [[nodiscard]] bool shows_timings() const { return answer_.options.timings_per_token; }
  [[nodiscard]] ResponseState final_state(const std::string& receipt) const;
  void store(const std::string& response) const;

  const AnswerUnderWay& answer_;
  std::string tenant_;
  std::string items_json_;  // ResponsesRequest::items_json
  bool store_;
  ResponseEvents events_;
};

}  // namespace holdfast::api
