// TokenHistory remembers which ids an answer was sampled as, so that a prompt
// that quotes the answer is tokenised to the same ids again.
//
// Tokenising is not the inverse of sampling: a model may say "ab" as "a" "b"
// where the tokeniser reads one "ab". Tokenised afresh, such a prompt leaves the
// known path in the middle of the model's own answer, and all that follows is
// computed again.
//
// A prompt is read as messages. Each runs from one end-of-turn token to the next:
//
//   <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user ...
//   [---- message 0 ---][-------------- message 1 -------------][---- message 2 ----
//                       [------------ opening ------------][ids]
//
// The key of a message is the hash of its text, seeded with the key of the message
// before and, at first, with the space. So it stands for the whole conversation
// up to there, and a prompt of any length is looked up with one hash a message.
// The conversation counts, not the answer's text alone, because ids are worth
// keeping only where the state before them is known too: "ab" elsewhere may have
// been said, or read, in other ids, and is then known by those.
//
// Cutting the prompt around an answer changes no other id. The text before it is
// the prompt that it answered, tokenised as it was then; what follows begins with
// a control token, which merges with nothing. tokenize() verifies this, and that
// the text is the same; where a vocabulary does not play along (it adds a space,
// or an end, to each text) the prompt is tokenised whole. So hashes are not
// trusted with text either: a wrong one costs time.
//
// A client may also say which answer a message quotes, by the id that it was given
// (cache/answer_ids.h). Then the answer is found by its name, whatever became of its text
// and of the conversation before it; cache/answer_quotes.h decides whether the message
// still says the same, and puts the sampled text into the prompt.
//
// Not remembered: an answer without text, one that spells a turn end itself, one
// that is larger than the bound, and every answer of a model whose template shows
// no turn end.
//
// Invariants, verified by check():
//   HISTORY-1  at most limits.answers_max answers are held
//   HISTORY-2  bytes = sum of cost(answer) <= limits.bytes_max
//   HISTORY-3  the index has one answer for each key, and it is held; an answer that is not
//              the one under its key has a name
//   HISTORY-4  an answer holds at least one id and one byte of text
//   HISTORY-5  each answer that has a name is found by it, and nothing else is
//
// Promised by tokenize(), verified by token_history_test.cc (TokenHistoryModel, HISTORY7):
//   HISTORY-6  the tokens decode to what those of the plain tokenisation decode to: the prompt, and
//              what the vocabulary adds of itself
//   HISTORY-7  no id crosses from one space to another
//
// Any thread. The text model is not called while the lock is held.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "cache/message_spans.h"
#include "cache/partly_literal.h"
#include "engine/text.h"
#include "state/tokens.h"
#include "tier/answer_log.h"
#include "tree/types.h"

namespace holdfast::cache {

struct HistoryLimits {
  std::size_t answers_max = 4096;             // 0: remember nothing
  ByteCount bytes_max = ByteCount{32} << 20;  // some 8 million tokens
};

struct HistoryUsage {
  std::size_t answers = 0;
  ByteCount bytes = 0;
  bool operator==(const HistoryUsage&) const = default;
};

// What an answer follows. Made by tokenize(), given back to remember().
struct AnswerContext {
  SpaceKey space;
  std::uint64_t conversation = 0;  // key of the messages before
  std::string opening;             // the prompt's text since the last turn end
  tier::AnswerName name;           // what its client will call it by
};

// A part of a prompt that is an answer, and the ids that it was sampled as. It ends where a
// turn ends.
struct Quote {
  std::size_t begin = 0;
  std::size_t end = 0;
  Tokens ids;
  tier::AnswerName name = {};
};

struct TokenizedPrompt {
  Tokens tokens;
  TokenPos kept = 0;      // ids that are as they were sampled
  AnswerContext context;  // of the answer to this prompt
};

class TokenHistory {
 public:
  explicit TokenHistory(HistoryLimits limits = {}) : limits_(limits) {}

  // Tokenises a rendered prompt, control tokens parsed and special ones added,
  // with the ids of remembered answers where these stand. `quotes`, in order, are answers
  // that were found already; their text is what their ids decode to. What `literal` covers is
  // text, whatever it spells (RenderedChat::literal).
  [[nodiscard]] TokenizedPrompt tokenize(SpaceKey space, const engine::TextModel& text,
                                         std::string_view prompt,
                                         const std::vector<Quote>& quotes = {},
                                         const std::vector<engine::TextRange>& literal = {});

  // Nothing: it has been forgotten, or is of another space. An answer is used, and stays for
  // longer, when a prompt that quotes it is tokenised.
  [[nodiscard]] std::optional<tier::RememberedAnswer> find_named(
      SpaceKey space, const tier::AnswerName& name) const;
  // What RememberedAnswer::opening_hash is made with.
  [[nodiscard]] static std::uint64_t opening_hash(std::string_view opening);

  // `answer`: the sampled ids without the one that ended the turn. What was
  // remembered for the same text in the same context is replaced: of two ways to
  // say it, the later one is more likely to be in memory still. An earlier one that
  // has a name is still found by that, because a client holds it.
  // False: not remembered, see above.
  bool remember(const AnswerContext& context, const engine::TextModel& text, TokenSpan answer);

  // Takes back what on_remembered was told of, perhaps in another life of the server.
  // False: it is none that could be used here.
  bool recall(tier::RememberedAnswer answer, Token vocabulary);
  // The one unused for longest comes first.
  [[nodiscard]] std::vector<tier::RememberedAnswer> answers() const;
  // Told of each answer that was remembered, by whoever remembered it. To be set before use.
  std::function<void(const tier::RememberedAnswer&)> on_remembered;

  void clear();
  // Forgets the answers of one space.
  void clear(SpaceKey space);
  [[nodiscard]] HistoryUsage usage() const;
  // What remembering an answer of `tokens` ids costs.
  [[nodiscard]] static ByteCount cost(std::size_t tokens);
  [[nodiscard]] std::vector<std::string> check() const;  // empty when HISTORY-1..HISTORY-5 hold

 private:
  using Answer = tier::RememberedAnswer;
  using Answers = std::list<Answer>;

  // Text of a prompt, [begin, end), that ids stand for; `closing` follows it.
  struct Splice {
    std::size_t begin = 0;
    std::size_t end = 0;
    Token closing = 0;
    Tokens ids;
  };
  struct KeyedMessages;
  struct HashName {
    std::size_t operator()(const tier::AnswerName& name) const;
  };

  [[nodiscard]] std::vector<Splice> find(SpaceKey space, const KeyedMessages& messages,
                                         const std::vector<Quote>& quotes);
  [[nodiscard]] static std::optional<Tokens> splice(const engine::TextModel& text,
                                                    const PartlyLiteral& prompt,
                                                    const std::vector<Splice>& splices);
  bool insert(Answer answer);
  void replace_key(std::uint64_t key) REQUIRES_LOCK(mutex_);
  void erase(Answers::iterator answer) REQUIRES_LOCK(mutex_);
  [[nodiscard]] bool under_its_key(const Answer& answer) const REQUIRES_LOCK(mutex_);

  const HistoryLimits limits_;
  mutable Mutex mutex_;
  Answers by_use_ GUARDED_BY(mutex_);  // the one unused for longest comes first
  std::unordered_map<std::uint64_t, Answers::iterator> by_key_ GUARDED_BY(mutex_);
  std::unordered_map<tier::AnswerName, Answers::iterator, HashName> by_name_ GUARDED_BY(mutex_);
  ByteCount bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::cache
