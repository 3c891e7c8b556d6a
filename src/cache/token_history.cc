#include "cache/token_history.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/hash.h"

namespace holdfast::cache {

namespace {

// An answer besides its ids: three nodes of containers with their allocator's headers.
constexpr ByteCount kAnswerBytes = 256;

std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(text)), seed);
}

std::uint64_t hash_space(SpaceKey space) {
  const std::array<std::uint64_t, 2> words{space.high, space.low};
  return hash_bytes(std::as_bytes(std::span(words)));
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
bool reads_as_prompt(const engine::TextModel& text, TokenSpan tokens, const PartlyLiteral& prompt) {
  if (decodes_to(text, tokens, prompt.text())) return true;
  if (!tokens.empty() && decodes_to(text, tokens.subspan(1), prompt.text())) return true;
  return text.detokenize(tokens) == text.detokenize(prompt.tokenize(text));
}

}  // namespace

// Names are random, so any part of one is a hash.
std::size_t TokenHistory::HashName::operator()(const tier::AnswerName& name) const {
  std::size_t hash = 0;
  std::memcpy(&hash, name.bytes.data(), sizeof(hash));
  return hash;
}

// A prompt as messages with their keys.
struct TokenHistory::KeyedMessages {
  struct Closed : ClosedMessage {
    std::uint64_t key = 0;
  };
  std::vector<Closed> closed;
  std::size_t open_begin = 0;
  std::uint64_t open_seed = 0;

  KeyedMessages(SpaceKey space, std::string_view prompt, const std::vector<TurnEnd>& ends,
                const std::vector<engine::TextRange>& literal)
      : open_seed(hash_space(space)) {
    const MessageSpans spans = message_spans_of(prompt, ends, literal);
    for (const ClosedMessage& message : spans.closed) {
      open_seed = hash_text(prompt.substr(message.begin, message.end - message.begin), open_seed);
      closed.push_back({message, open_seed});
    }
    open_begin = spans.open_begin;
  }
};

TokenizedPrompt TokenHistory::tokenize(SpaceKey space, const engine::TextModel& text,
                                       std::string_view prompt, const std::vector<Quote>& quotes,
                                       const std::vector<engine::TextRange>& literal) {
  const PartlyLiteral whole(prompt, literal);
  const KeyedMessages messages(space, prompt, turn_ends_of(text), literal);
  TokenizedPrompt result;
  result.context = {space, messages.open_seed, std::string(prompt.substr(messages.open_begin)), {}};
  const std::vector<Splice> splices = find(space, messages, quotes);
  auto spliced = splices.empty() ? std::nullopt : splice(text, whole, splices);
  if (!spliced) {
    result.tokens = whole.tokenize(text);
    return result;
  }
  result.tokens = std::move(*spliced);
  for (const Splice& each : splices) result.kept += length_of(each.ids);
  return result;
}

std::vector<TokenHistory::Splice> TokenHistory::find(SpaceKey space, const KeyedMessages& messages,
                                                     const std::vector<Quote>& quotes) {
  std::vector<Splice> splices;
  auto quote = quotes.rbegin();
  const MutexLock lock(mutex_);
  // Backwards, so that a conversation's first answer is its last to be forgotten:
  // without it everything after it is off the known path.
  for (auto it = messages.closed.rbegin(); it != messages.closed.rend(); ++it) {
    const KeyedMessages::Closed& message = *it;
    if (quote != quotes.rend() && quote->end == message.end) {
      splices.push_back({quote->begin, quote->end, message.closing, quote->ids});
      const auto named = by_name_.find(quote->name);
      if (named != by_name_.end()) by_use_.splice(by_use_.end(), by_use_, named->second);
      ++quote;
      continue;
    }
    const auto found = by_key_.find(message.key);
    if (found == by_key_.end()) continue;
    const Answer& answer = *found->second;
    const bool fits = answer.space == space &&
                      answer.opening_bytes + answer.text_bytes == message.end - message.begin;
    if (!fits) continue;  // another text with the same hash
    by_use_.splice(by_use_.end(), by_use_, found->second);
    splices.push_back(
        {message.begin + answer.opening_bytes, message.end, message.closing, answer.ids});
  }
  std::ranges::reverse(splices);
  return splices;
}

// Nothing, if the vocabulary does not let the prompt be cut there.
std::optional<Tokens> TokenHistory::splice(const engine::TextModel& text,
                                           const PartlyLiteral& prompt,
                                           const std::vector<Splice>& splices) {
  Tokens tokens = prompt.tokenize(text, {0, splices.front().begin});
  for (std::size_t i = 0; i < splices.size(); ++i) {
    const Splice& now = splices[i];
    tokens.insert(tokens.end(), now.ids.begin(), now.ids.end());
    const std::size_t next = i + 1 < splices.size() ? splices[i + 1].begin : prompt.text().size();
    const Tokens after = prompt.tokenize(text, {now.end, next});
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
  const std::string message = context.opening + said;
  if (said.empty() || ends.empty() || !is_one_message(message, ends)) return false;
  const Answer made{.key = hash_text(message, context.conversation),
                    .space = context.space,
                    .opening_bytes = context.opening.size(),
                    .text_bytes = said.size(),
                    .ids = Tokens(answer.begin(), answer.end()),
                    .opening_hash = opening_hash(context.opening),
                    .name = context.name};
  if (!insert(made)) return false;
  if (on_remembered) on_remembered(made);
  return true;
}

std::optional<tier::RememberedAnswer> TokenHistory::find_named(SpaceKey space,
                                                               const tier::AnswerName& name) const {
  const MutexLock lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || found->second->space != space) return std::nullopt;
  return *found->second;
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
  replace_key(answer.key);
  if (const auto same = by_name_.find(answer.name); same != by_name_.end()) erase(same->second);
  while (by_use_.size() >= limits_.answers_max || bytes_ + bytes > limits_.bytes_max) {
    erase(by_use_.begin());
  }
  const auto held = by_use_.insert(by_use_.end(), std::move(answer));
  by_key_.emplace(held->key, held);
  if (held->name) by_name_.emplace(held->name, held);
  bytes_ += bytes;
  return true;
}

// Makes room in the index. A client may still hold the name of the answer that is there.
void TokenHistory::replace_key(std::uint64_t key) {
  const auto same = by_key_.find(key);
  if (same == by_key_.end()) return;
  if (same->second->name)
    by_key_.erase(same);
  else
    erase(same->second);
}

void TokenHistory::erase(Answers::iterator answer) {
  bytes_ -= cost(answer->ids.size());
  if (under_its_key(*answer)) by_key_.erase(answer->key);
  if (answer->name) by_name_.erase(answer->name);
  by_use_.erase(answer);
}

bool TokenHistory::under_its_key(const Answer& answer) const {
  const auto indexed = by_key_.find(answer.key);
  return indexed != by_key_.end() && &*indexed->second == &answer;
}

void TokenHistory::clear() {
  const MutexLock lock(mutex_);
  by_key_.clear();
  by_name_.clear();
  by_use_.clear();
  bytes_ = 0;
}

void TokenHistory::clear(SpaceKey space) {
  const MutexLock lock(mutex_);
  for (auto answer = by_use_.begin(); answer != by_use_.end();) {
    const auto next = std::next(answer);
    if (answer->space == space) erase(answer);
    answer = next;
  }
}

HistoryUsage TokenHistory::usage() const {
  const MutexLock lock(mutex_);
  return {by_use_.size(), bytes_};
}

ByteCount TokenHistory::cost(std::size_t tokens) { return kAnswerBytes + tokens * sizeof(Token); }

std::uint64_t TokenHistory::opening_hash(std::string_view opening) { return hash_text(opening, 0); }

std::vector<std::string> TokenHistory::check() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> violations;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) violations.emplace_back(what);
  };
  expect(by_use_.size() <= limits_.answers_max, "HISTORY-1: too many answers");
  ByteCount bytes = 0;
  std::size_t names = 0;
  std::size_t keys = 0;
  for (auto answer = by_use_.begin(); answer != by_use_.end(); ++answer) {
    bytes += cost(answer->ids.size());
    const bool own = under_its_key(*answer);
    keys += own ? 1 : 0;
    expect(own || answer->name, "HISTORY-3: an answer is found by nothing");
    const auto named = by_name_.find(answer->name);
    names += answer->name ? 1 : 0;
    const bool found = named != by_name_.end() && &*named->second == &*answer;
    expect(found == static_cast<bool>(answer->name), "HISTORY-5: an answer is not under its name");
    expect(!answer->ids.empty() && answer->text_bytes > 0, "HISTORY-4: an answer is empty");
  }
  expect(by_key_.size() == keys, "HISTORY-3: a key without its answer");
  expect(by_name_.size() == names, "HISTORY-5: a name without its answer");
  expect(bytes_ == bytes, "HISTORY-2: the bytes are not the sum of the answers'");
  expect(bytes_ <= limits_.bytes_max, "HISTORY-2: too many bytes");
  return violations;
}

}  // namespace holdfast::cache
