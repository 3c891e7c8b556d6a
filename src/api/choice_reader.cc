#include "api/choice_reader.h"

#include <utility>

#include "api/answer_refs.h"

namespace holdfast::api {

ChoiceReader::ChoiceReader(const engine::TextModel& text, const engine::ReplyFormat* format,
                           bool tokens, std::string answer_id)
    : text_(text),
      parser_(format != nullptr ? text.make_parser(*format) : nullptr),
      wants_tokens_(tokens),
      answer_id_(std::move(answer_id)) {}

void ChoiceReader::name_call(std::size_t index, engine::ToolCall& call) const {
  if (call.id_invented && !answer_id_.empty()) call.id = call_id_of(answer_id_, index);
}

std::vector<engine::ReplyDelta> ChoiceReader::named(std::vector<engine::ReplyDelta> deltas) const {
  for (engine::ReplyDelta& delta : deltas) {
    if (delta.tool_index) name_call(*delta.tool_index, delta.tool);
  }
  return deltas;
}

void ChoiceReader::note_logprobs(const std::vector<serve::TokenReport>& tokens) {
  if (!wants_tokens_) return;
  for (const serve::TokenReport& token : tokens) {
    logprobs_.push_back(logprobs_of(token, [this](Token id) { return text_.piece(id, true); }));
  }
}

std::vector<engine::ReplyDelta> ChoiceReader::on_text(const serve::TextDelta& delta) {
  note_logprobs(delta.tokens);
  if (parser_ != nullptr) return named(parser_->feed(delta.text));
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
  std::vector<engine::ReplyDelta> last = named(parser_->finish());
  whole_ = parser_->reply();
  for (std::size_t i = 0; i < whole_.tool_calls.size(); ++i) name_call(i, whole_.tool_calls[i]);
  return last;
}

const engine::Reply& ChoiceReader::reply() const {
  if (parser_ == nullptr) return plain_;
  return finished_ ? whole_ : parser_->reply();
}

std::vector<TokenLogprobs> ChoiceReader::take_new_logprobs() {
  std::vector<TokenLogprobs> fresh(logprobs_.begin() + static_cast<std::ptrdiff_t>(logprobs_sent_),
                                   logprobs_.end());
  logprobs_sent_ = logprobs_.size();
  return fresh;
}

}  // namespace holdfast::api
