#include "api/choice_reader.h"

namespace holdfast::api {

ChoiceReader::ChoiceReader(const engine::TextModel& text, const engine::ReplyFormat* format,
                           bool logprobs)
    : text_(text),
      parser_(format != nullptr ? text.make_parser(*format) : nullptr),
      wants_logprobs_(logprobs) {}

void ChoiceReader::note_logprobs(const std::vector<serve::TokenReport>& tokens) {
  if (!wants_logprobs_) return;
  for (const serve::TokenReport& token : tokens) {
    logprobs_.push_back(logprobs_of(token, [this](Token id) { return text_.piece(id, true); }));
  }
}

std::vector<engine::ReplyDelta> ChoiceReader::on_text(const serve::TextDelta& delta) {
  note_logprobs(delta.tokens);
  if (parser_ != nullptr) return parser_->feed(delta.text);
  plain_.content += delta.text;
  engine::ReplyDelta passed_on;
  passed_on.content = delta.text;
  return {passed_on};
}

void ChoiceReader::keep_text(const serve::TextDelta& delta) {
  note_logprobs(delta.tokens);
  (parser_ != nullptr ? kept_ : plain_.content) += delta.text;
}

std::vector<engine::ReplyDelta> ChoiceReader::on_finished(const serve::Finished& finished) {
  finished_ = finished;
  if (parser_ == nullptr) return {};
  if (!kept_.empty()) (void)parser_->feed(kept_);
  return parser_->finish();
}

const engine::Reply& ChoiceReader::reply() const {
  return parser_ != nullptr ? parser_->reply() : plain_;
}

std::vector<TokenLogprobs> ChoiceReader::take_new_logprobs() {
  std::vector<TokenLogprobs> fresh(logprobs_.begin() + static_cast<std::ptrdiff_t>(logprobs_sent_),
                                   logprobs_.end());
  logprobs_sent_ = logprobs_.size();
  return fresh;
}

}  // namespace holdfast::api
