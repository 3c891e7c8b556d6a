// Turns: where the turns of a rendered prompt end.
//
//   <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user ...
//   [----- turn 0 -----][--------------- turn 1 ---------------][------ open turn -----
//
// A turn begins with the token that ended the one before, and what templates put after it (a
// newline).
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text.h"
#include "state/tokens.h"

namespace holdfast::cache {

// The token that ends a turn and the text that names it.
struct TurnEnd {
  Token token = 0;
  std::string text;
};
[[nodiscard]] std::vector<TurnEnd> turn_ends_of(const engine::TextModel& text);

struct EndedTurn {
  std::size_t begin = 0;
  std::size_t end = 0;  // where the text of its end begins
  Token closing = 0;
};

struct Turns {
  std::vector<EndedTurn> ended;
  std::size_t open_begin = 0;  // of what follows them
};
// What is spelt in `literal`, ranges in ascending order, ends no turn.
[[nodiscard]] Turns turns_of(std::string_view prompt, const std::vector<TurnEnd>& ends,
                             const std::vector<engine::TextRange>& literal = {});

// `turn` may begin with the end of the turn before it, and holds no other.
[[nodiscard]] bool is_one_turn(std::string_view turn, const std::vector<TurnEnd>& ends);

}  // namespace holdfast::cache
