#include "cache/answer_quotes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cache/message_spans.h"
#include "cache/partly_literal.h"

namespace holdfast::cache {

namespace {

// Where it is not clear which rendered message quotes an answer, this many are compared at most:
// parsing a message as a reply takes as long as the message is.
constexpr int kTriesMax = 4;
// And this many times the prompt's own length is looked at in all, so that many answers that
// are not shown cannot make it quadratic.
constexpr std::size_t kReadingsMax = 64;

std::string_view without_space(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? std::string_view() : text.substr(begin);
}

// "<|im_start|>assistant" of "<|im_start|>assistant\n<think>\n".
std::string_view header_of(std::string_view generation_prompt) {
  const std::string_view begin = without_space(generation_prompt);
  return begin.substr(0, begin.find('\n'));
}

class Matcher {
 public:
  Matcher(const engine::TextModel& text, const engine::RenderedChat& chat, std::size_t messages)
      : prompt_(chat.prompt),
        ends_(turn_ends_of(text)),
        closed_(message_spans_of(prompt_, ends_, chat.literal).closed),
        bytes_left_(kReadingsMax * prompt_.size()) {
    const std::string_view header = header_of(chat.generation_prompt);
    for (std::size_t i = 0; i < closed_.size() && !header.empty(); ++i) {
      if (opening_text(closed_[i]).starts_with(header)) assistants_.push_back(i);
    }
    if (assistants_.size() != messages) assistants_.clear();
  }

  // The message that is this answer; each call looks behind what the one before has found.
  std::optional<ClosedMessage> find(const QuotedAnswer& quoted, const SaysTheSame& says_the_same) {
    std::size_t first = next_;
    std::size_t last = closed_.size();
    if (!assistants_.empty()) {  // it is known which one it would be
      first = quoted.message < assistants_.size() ? assistants_[quoted.message] : last;
      last = std::min(first + 1, last);
    }
    int tries = 0;
    for (std::size_t i = first; i < last && may_read(quoted.answer.opening_bytes); ++i) {
      if (!opens_as(quoted.answer, closed_[i])) continue;
      const std::string_view rendered = rendered_of(quoted.answer, closed_[i]);
      const bool same =
          rendered == quoted.sampled || (tries++ < kTriesMax && says_the_same(quoted, rendered));
      if (!same) continue;
      next_ = i + 1;
      return closed_[i];
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool may_read(std::size_t bytes) {
    const bool may = bytes < bytes_left_;
    bytes_left_ -= may ? bytes + 1 : bytes_left_;
    return may;
  }
  [[nodiscard]] std::string_view text_of(const ClosedMessage& message) const {
    return prompt_.substr(message.begin, message.end - message.begin);
  }
  // Without the end of turn that closed the message before.
  [[nodiscard]] std::string_view opening_text(const ClosedMessage& message) const {
    std::string_view text = text_of(message);
    for (const TurnEnd& end : ends_) {
      if (!text.starts_with(end.text)) continue;
      text.remove_prefix(end.text.size());
      break;
    }
    return without_space(text);
  }
  [[nodiscard]] bool opens_as(const tier::RememberedAnswer& answer,
                              const ClosedMessage& message) const {
    const std::string_view text = text_of(message);
    return text.size() >= answer.opening_bytes &&
           TokenHistory::opening_hash(text.substr(0, answer.opening_bytes)) == answer.opening_hash;
  }
  [[nodiscard]] std::string_view rendered_of(const tier::RememberedAnswer& answer,
                                             const ClosedMessage& message) const {
    return text_of(message).substr(answer.opening_bytes);
  }

  const std::string_view prompt_;
  const std::vector<TurnEnd> ends_;
  const std::vector<ClosedMessage> closed_;
  std::vector<std::size_t> assistants_;  // of closed_, the assistant's; empty: not known
  std::size_t next_ = 0;
  std::size_t bytes_left_;  // that may be looked at
};

void append(const engine::RenderedChat& chat, engine::TextRange part, QuotedPrompt& quoted) {
  for (const engine::TextRange& range : ranges_within(chat.literal, part)) {
    quoted.literal.push_back({quoted.text.size() + range.begin, quoted.text.size() + range.end});
  }
  quoted.text.append(chat.prompt, part.begin, part.end - part.begin);
}

}  // namespace

QuotedPrompt quote_answers(const engine::TextModel& text, const engine::RenderedChat& chat,
                           std::size_t messages, const std::vector<QuotedAnswer>& answers,
                           const SaysTheSame& says_the_same) {
  QuotedPrompt quoted;
  Matcher matcher(text, chat, messages);
  std::size_t copied = 0;
  for (const QuotedAnswer& answer : answers) {
    const auto found = matcher.find(answer, says_the_same);
    quoted.used.push_back(found.has_value());
    if (!found) continue;
    const std::size_t begin = found->begin + answer.answer.opening_bytes;
    append(chat, {copied, begin}, quoted);
    Quote& quote = quoted.quotes.emplace_back();
    quote.begin = quoted.text.size();
    quoted.text += answer.sampled;
    quote.end = quoted.text.size();
    quote.ids = answer.answer.ids;
    quote.name = answer.answer.name;
    copied = found->end;
  }
  append(chat, {copied, chat.prompt.size()}, quoted);
  return quoted;
}

}  // namespace holdfast::cache
