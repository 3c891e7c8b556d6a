// ScriptedTalk: a conversation that follows its script, on answers that a server gives.
//
//   script  turn     branch   turn ...
//   talk    S u A -> S u A -> S u A
//                 u' A'         u' A' u" A"
//
// The history holds what the running server answered, so that one answer that differs does not
// make all later ones differ.
//
// It also says what each answer began with, as far as receipts tell. An answer in the history
// counts as read once a request has begun with states of which none lies inside of it, but for
// those that were read ahead; until then a state that reaches into it is one that was decoded. A
// state from disk may have been written by an earlier server, so it is called by its source alone.
//
// One thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/exact_answer.h"
#include "cli/exact_script.h"

namespace holdfast::cli {

class ScriptedTalk {
 public:
  explicit ScriptedTalk(TalkScript script);

  [[nodiscard]] const std::vector<TalkStep>& steps() const { return script_.steps; }

  // The requests of a step, to be sent at once.
  [[nodiscard]] std::vector<nlohmann::json> ask(const TalkStep& step);
  // What each of the step's answers reuses: where its receipt says that it comes from, "decoded",
  // "pre-warmed", or "resumed" where the same request was begun before and may have read it.
  [[nodiscard]] std::vector<std::string> reuse_of(const std::vector<ExactAnswer>& answers,
                                                  const TalkStep& step) const;
  // All of them are there; the first one becomes history.
  void take(const std::vector<ExactAnswer>& answers, const TalkStep& step);

 private:
  struct PastAnswer {
    std::size_t message = 0;
    TokenPos begin = 0;  // of it, in tokens
    bool read = false;

    // Whether a request began with states of it that nobody has read.
    [[nodiscard]] bool reused_unread(const ExactAnswer& answer) const {
      return !read && answer.restored - answer.prewarmed > begin;
    }
  };
  struct History {
    nlohmann::json messages;
    std::vector<PastAnswer> answers;
  };

  void say(const std::string& text);
  void cut(std::size_t messages);
  void cut_at_some(const char* role, std::size_t where, std::size_t kept);
  [[nodiscard]] nlohmann::json request(const nlohmann::json& messages, const TalkStep& step) const;

  const TalkScript script_;
  History history_;
  History left_;           // by the latest branch
  std::size_t asked_ = 0;  // messages of the latest request; 0: none yet
};

// Where an answer comes from, in the words of receipts; two of them mean a slot's own state.
[[nodiscard]] std::string source_of(const ExactAnswer& answer);

// The settings of every request that is compared: the likeliest tokens, with their logprobs.
void make_comparable(nlohmann::json& request);

}  // namespace holdfast::cli
