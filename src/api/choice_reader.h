// ChoiceReader follows one generation: text in, deltas and the whole reply out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/openai_logprobs.h"
#include "engine/text.h"
#include "serve/request.h"

namespace holdfast::api {

class ChoiceReader {
 public:
  // `format` null: a plain completion, whose text is passed on as it is. `answer_id`: what
  // ids of calls carry where the model writes none (api/answer_refs.h); empty: nothing.
  ChoiceReader(const engine::TextModel& text, const engine::ReplyFormat* format, bool tokens,
               std::string answer_id = "");

  // What a streaming client should see next.
  [[nodiscard]] std::vector<engine::ReplyDelta> on_text(const serve::TextDelta& delta);
  // For a client that waits for the whole: the text is read once, at the end.
  void keep_text(const serve::TextDelta& delta);
  [[nodiscard]] std::vector<engine::ReplyDelta> on_finished(const serve::Finished& finished);

  [[nodiscard]] const engine::Reply& reply() const;
  [[nodiscard]] const std::string& answer_id() const { return answer_id_; }
  [[nodiscard]] const std::optional<serve::Finished>& finished() const { return finished_; }
  // The tokens, if they were asked for; with log-probabilities, if those were.
  [[nodiscard]] const std::vector<TokenLogprobs>& all_logprobs() const { return logprobs_; }
  // Those that no chunk has carried yet.
  [[nodiscard]] std::vector<TokenLogprobs> take_new_logprobs();

 private:
  void name_call(std::size_t index, engine::ToolCall& call) const;
  [[nodiscard]] std::vector<engine::ReplyDelta> named(std::vector<engine::ReplyDelta> deltas) const;
  void note_logprobs(const std::vector<serve::TokenReport>& tokens);

  const engine::TextModel& text_;
  std::unique_ptr<engine::ReplyParser> parser_;
  std::string kept_;
  engine::Reply plain_;
  engine::Reply whole_;  // once it has finished, with the names of its calls
  bool wants_tokens_;
  std::string answer_id_;
  std::vector<TokenLogprobs> logprobs_;
  std::size_t logprobs_sent_ = 0;
  std::optional<serve::Finished> finished_;
};

}  // namespace holdfast::api
