// PrewarmLog: what was read ahead lately, so that the request which begins with it can say so.
//
// Prompts are known by a hash of their tokens; each reading is counted once.
//
// The scheduler's thread.
#pragma once

#include <cstddef>
#include <deque>

#include "base/hash.h"
#include "state/space.h"
#include "state/tokens.h"

namespace holdfast::serve {

class PrewarmLog {
 public:
  static constexpr std::size_t kReadingsMax = 64;  // the latest ones

  // Tokens [begin, prompt's end) were read. Reading that goes on where the latest ended is one with
  // it.
  void note(SpaceKey space, TokenSpan prompt, TokenPos begin);
  // Of the first `restored` tokens of a prompt, those that were read ahead. A token that was read
  // twice, because its state had gone in between, counts once.
  [[nodiscard]] TokenPos claim(SpaceKey space, TokenSpan prompt, TokenPos restored);

 private:
  struct Reading {
    SpaceKey space;
    TokenPos begin = 0;
    TokenPos end = 0;
    WideHash hash;  // of the tokens before `end`
  };

  std::deque<Reading> readings_;  // latest last
};

}  // namespace holdfast::serve
