// PartlyLiteral: a rendered prompt, and where it is text whatever it spells.
//
// Pure functions; any thread. What it is made of outlives it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/text.h"
#include "state/tokens.h"

namespace holdfast::cache {

class PartlyLiteral {
 public:
  // `literal` in ascending order (RenderedChat::literal).
  PartlyLiteral(std::string_view text, const std::vector<engine::TextRange>& literal)
      : text_(text), literal_(literal) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  // The whole of it, with what the vocabulary adds to a text.
  [[nodiscard]] Tokens tokenize(const engine::TextModel& model) const;
  // Bytes [part.begin, part.end). Only at the beginning of all does the vocabulary add something.
  [[nodiscard]] Tokens tokenize(const engine::TextModel& model, engine::TextRange part) const;

 private:
  std::string_view text_;
  const std::vector<engine::TextRange>& literal_;
};

// The parts of `ranges` that lie in `part`, counted from its beginning.
[[nodiscard]] std::vector<engine::TextRange> ranges_within(
    const std::vector<engine::TextRange>& ranges, engine::TextRange part);

}  // namespace holdfast::cache
