#include "cache/message_spans.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cache/partly_literal.h"

namespace holdfast::cache {

namespace {

// Finds turn ends from left to right. Where each one occurs next is looked up
// once, so reading a text is linear even where one of them never occurs.
class TurnEndScanner {
 public:
  TurnEndScanner(std::string_view text, const std::vector<TurnEnd>& ends) : text_(text) {
    for (const TurnEnd& end : ends) next_.push_back({text.find(end.text), &end});
  }

  struct Found {
    std::size_t position = std::string_view::npos;
    const TurnEnd* end = nullptr;
  };
  // The first one at or after `from`, which grows from call to call.
  [[nodiscard]] std::optional<Found> next(std::size_t from) {
    Found first;
    for (Found& found : next_) {
      if (found.position < from) found.position = text_.find(found.end->text, from);
      if (found.position < first.position) first = found;
    }
    return first.end != nullptr ? std::optional(first) : std::nullopt;
  }

 private:
  std::string_view text_;
  std::vector<Found> next_;
};

}  // namespace

std::vector<TurnEnd> turn_ends_of(const engine::TextModel& text) {
  std::vector<TurnEnd> ends;
  for (const Tokens& sequence : text.turn_ends()) {
    if (sequence.empty()) continue;
    TurnEnd end{sequence.front(), text.piece(sequence.front(), true)};
    const bool seen = std::ranges::find(ends, end.token, &TurnEnd::token) != ends.end();
    if (!seen && !end.text.empty()) ends.push_back(std::move(end));
  }
  return ends;
}

MessageSpans message_spans_of(std::string_view prompt, const std::vector<TurnEnd>& ends,
                              const std::vector<engine::TextRange>& literal) {
  MessageSpans spans;
  TurnEndScanner scanner(prompt, ends);
  std::size_t from = 0;
  while (const auto found = scanner.next(from)) {
    from = found->position + found->end->text.size();
    if (!ranges_within(literal, {found->position, from}).empty()) continue;
    spans.closed.push_back({spans.open_begin, found->position, found->end->token});
    spans.open_begin = found->position;
  }
  return spans;
}

bool is_one_message(std::string_view text, const std::vector<TurnEnd>& ends) {
  TurnEndScanner scanner(text, ends);
  const auto first = scanner.next(0);
  if (!first) return true;
  return first->position == 0 && !scanner.next(first->end->text.size());
}

}  // namespace holdfast::cache
