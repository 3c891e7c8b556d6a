// ChoiceReader follows one generation: text in, deltas and the whole reply out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/openai_response.h"
#include "engine/text.h"
#include "serve/request.h"

namespace holdfast {

class ChoiceReader {
 public:
  // `format` null: a plain completion, whose text is passed on as it is.
  ChoiceReader(const TextModel& text, const ReplyFormat* format, bool logprobs);

  // What a streaming client should see next.
  [[nodiscard]] std::vector<ReplyDelta> on_text(const TextDelta& delta);
  // For a client that waits for the whole: the text is read once, at the end.
  void keep_text(const TextDelta& delta);
  [[nodiscard]] std::vector<ReplyDelta> on_finished(const Finished& finished);

  [[nodiscard]] const Reply& reply() const;
  [[nodiscard]] const std::optional<Finished>& finished() const { return finished_; }
  [[nodiscard]] std::string_view finish_reason() const;
  [[nodiscard]] const std::vector<TokenLogprobs>& all_logprobs() const { return logprobs_; }
  // Log-probabilities that no chunk has carried yet.
  [[nodiscard]] std::vector<TokenLogprobs> take_new_logprobs();

 private:
  void note_logprobs(const std::vector<TokenReport>& tokens);

  const TextModel& text_;
  std::unique_ptr<ReplyParser> parser_;
  std::string kept_;
  Reply plain_;
  bool wants_logprobs_;
  std::vector<TokenLogprobs> logprobs_;
  std::size_t logprobs_sent_ = 0;
  std::optional<Finished> finished_;
};

}  // namespace holdfast
