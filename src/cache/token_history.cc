#include "cache/token_history.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/hash.h"

namespace holdfast::cache {

namespace {

// An answer besides its ids: two nodes of containers with their allocator's headers.
constexpr ByteCount kAnswerBytes = 160;

std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(text)), seed);
}

std::uint64_t hash_space(SpaceKey space) {
  const std::array<std::uint64_t, 2> words{space.high, space.low};
  return hash_bytes(std::as_bytes(std::span(words)));
}

// The token that ends a turn and the text that names it. What templates put
// after it (a newline) is part of the next turn here.
struct TurnEnd {
  Token token = 0;
  std::string text;
};

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

// `turn` may begin with the end of the turn before it, and holds no other.
bool is_one_turn(std::string_view turn, const std::vector<TurnEnd>& ends) {
  TurnEndScanner scanner(turn, ends);
  const auto first = scanner.next(0);
  if (!first) return true;
  return first->position == 0 && !scanner.next(first->end->text.size());
}

bool decodes_to(const engine::TextModel& text, TokenSpan tokens, std::string_view wanted) {
  for (const Token token : tokens) {
    const std::string piece = text.piece(token, true);
    if (!wanted.starts_with(piece)) return false;
    wanted.remove_prefix(piece.size());
  }
  return wanted.empty();
}

// Most vocabularies give a prompt back, some with a token first that it does not
// name. Others add spaces, or lose some; then the plain tokenisation is the measure.
bool reads_as_prompt(const engine::TextModel& text, TokenSpan tokens, std::string_view prompt) {
  if (decodes_to(text, tokens, prompt)) return true;
  if (!tokens.empty() && decodes_to(text, tokens.subspan(1), prompt)) return true;
  return text.detokenize(tokens) == text.detokenize(text.tokenize(prompt, true, true));
}

}  // namespace

// A prompt as turns: those that have ended, and what follows them.
struct TokenHistory::Turns {
  struct Ended {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t key = 0;
    Token closing = 0;
  };
  std::vector<Ended> ended;
  std::size_t open_begin = 0;
  std::uint64_t open_seed = 0;

  Turns(SpaceKey space, std::string_view prompt, const std::vector<TurnEnd>& ends)
      : open_seed(hash_space(space)) {
    TurnEndScanner scanner(prompt, ends);
    std::size_t from = 0;
    while (const auto found = scanner.next(from)) {
      open_seed = hash_text(prompt.substr(open_begin, found->position - open_begin), open_seed);
      ended.push_back({open_begin, found->position, open_seed, found->end->token});
      open_begin = found->position;
      from = open_begin + found->end->text.size();
    }
  }
};

TokenizedPrompt TokenHistory::tokenize(SpaceKey space, const engine::TextModel& text,
                                       std::string_view prompt) {
  const Turns turns(space, prompt, turn_ends_of(text));
  TokenizedPrompt result;
  result.context = {space, turns.open_seed, std::string(prompt.substr(turns.open_begin))};
  const std::vector<Splice> splices = find(space, turns);
  auto spliced = splices.empty() ? std::nullopt : splice(text, prompt, splices);
  if (!spliced) {
    result.tokens = text.tokenize(prompt, true, true);
    return result;
  }
  result.tokens = std::move(*spliced);
  for (const Splice& each : splices) result.kept += length_of(each.ids);
  return result;
}

std::vector<TokenHistory::Splice> TokenHistory::find(SpaceKey space, const Turns& turns) {
  std::vector<Splice> splices;
  const MutexLock lock(mutex_);
  // Backwards, so that a conversation's first answer is its last to be forgotten:
  // without it everything after it is off the known path.
  for (auto it = turns.ended.rbegin(); it != turns.ended.rend(); ++it) {
    const Turns::Ended& turn = *it;
    const auto found = by_key_.find(turn.key);
    if (found == by_key_.end()) continue;
    const Answer& answer = *found->second;
    const bool fits =
        answer.space == space && answer.opening_bytes + answer.text_bytes == turn.end - turn.begin;
    if (!fits) continue;  // another text with the same hash
    by_use_.splice(by_use_.end(), by_use_, found->second);
    splices.push_back({turn.begin + answer.opening_bytes, turn.end, turn.closing, answer.ids});
  }
  std::ranges::reverse(splices);
  return splices;
}

// Nothing, if the vocabulary does not let the prompt be cut there.
std::optional<Tokens> TokenHistory::splice(const engine::TextModel& text, std::string_view prompt,
                                           const std::vector<Splice>& splices) {
  Tokens tokens = text.tokenize(prompt.substr(0, splices.front().begin), true, true);
  for (std::size_t i = 0; i < splices.size(); ++i) {
    const Splice& now = splices[i];
    tokens.insert(tokens.end(), now.ids.begin(), now.ids.end());
    const std::size_t next = i + 1 < splices.size() ? splices[i + 1].begin : prompt.size();
    const Tokens after = text.tokenize(prompt.substr(now.end, next - now.end), false, true);
    if (after.empty() || after.front() != now.closing) return std::nullopt;
    tokens.insert(tokens.end(), after.begin(), after.end());
  }
  if (!reads_as_prompt(text, tokens, prompt)) return std::nullopt;
  return tokens;
}

bool TokenHistory::remember(const AnswerContext& context, const engine::TextModel& text,
                            TokenSpan answer) {
  const std::vector<TurnEnd> ends = turn_ends_of(text);
  const std::string said = text.detokenize(answer);
  const std::string turn = context.opening + said;
  if (said.empty() || ends.empty() || !is_one_turn(turn, ends)) return false;
  const Answer made{.key = hash_text(turn, context.conversation),
                    .space = context.space,
                    .opening_bytes = context.opening.size(),
                    .text_bytes = said.size(),
                    .ids = Tokens(answer.begin(), answer.end())};
  if (!insert(made)) return false;
  if (on_remembered) on_remembered(made);
  return true;
}

bool TokenHistory::recall(tier::RememberedAnswer answer, Token vocabulary) {
  const bool known =
      std::ranges::all_of(answer.ids, [&](Token id) { return id >= 0 && id < vocabulary; });
  if (!known || answer.ids.empty() || answer.text_bytes == 0) return false;
  return insert(std::move(answer));
}

std::vector<tier::RememberedAnswer> TokenHistory::answers() const {
  const MutexLock lock(mutex_);
  return {by_use_.begin(), by_use_.end()};
}

bool TokenHistory::insert(Answer answer) {
  const ByteCount bytes = cost(answer.ids.size());
  if (bytes > limits_.bytes_max || limits_.answers_max == 0) return false;
  const MutexLock lock(mutex_);
  if (const auto same = by_key_.find(answer.key); same != by_key_.end()) erase(same->second);
  while (by_use_.size() >= limits_.answers_max || bytes_ + bytes > limits_.bytes_max) {
    erase(by_use_.begin());
  }
  const std::uint64_t key = answer.key;
  by_key_.emplace(key, by_use_.insert(by_use_.end(), std::move(answer)));
  bytes_ += bytes;
  return true;
}

void TokenHistory::erase(Answers::iterator answer) {
  bytes_ -= cost(answer->ids.size());
  by_key_.erase(answer->key);
  by_use_.erase(answer);
}

void TokenHistory::clear() {
  const MutexLock lock(mutex_);
  by_key_.clear();
  by_use_.clear();
  bytes_ = 0;
}

HistoryUsage TokenHistory::usage() const {
  const MutexLock lock(mutex_);
  return {by_use_.size(), bytes_};
}

ByteCount TokenHistory::cost(std::size_t tokens) { return kAnswerBytes + tokens * sizeof(Token); }

std::vector<std::string> TokenHistory::check() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> violations;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) violations.emplace_back(what);
  };
  expect(by_use_.size() <= limits_.answers_max, "HISTORY-1: too many answers");
  ByteCount bytes = 0;
  expect(by_key_.size() == by_use_.size(), "HISTORY-3: the index is of another size");
  for (auto answer = by_use_.begin(); answer != by_use_.end(); ++answer) {
    bytes += cost(answer->ids.size());
    const auto indexed = by_key_.find(answer->key);
    const bool own = indexed != by_key_.end() && &*indexed->second == &*answer;
    expect(own, "HISTORY-3: an answer is not under its key");
    expect(!answer->ids.empty() && answer->text_bytes > 0, "HISTORY-4: an answer is empty");
  }
  expect(bytes_ == bytes, "HISTORY-2: the bytes are not the sum of the answers'");
  expect(bytes_ <= limits_.bytes_max, "HISTORY-2: too many bytes");
  return violations;
}

}  // namespace holdfast::cache
