#include "cache/partly_literal.h"

#include <algorithm>

namespace holdfast::cache {

using engine::TextRange;

std::vector<TextRange> ranges_within(const std::vector<TextRange>& ranges, TextRange part) {
  std::vector<TextRange> within;
  auto range = std::ranges::upper_bound(ranges, part.begin, {}, &TextRange::end);
  for (; range != ranges.end() && range->begin < part.end; ++range) {
    within.push_back({std::max(range->begin, part.begin) - part.begin,
                      std::min(range->end, part.end) - part.begin});
  }
  return within;
}

Tokens PartlyLiteral::tokenize(const engine::TextModel& model) const {
  return model.tokenize_prompt(text_, true, literal_);
}

Tokens PartlyLiteral::tokenize(const engine::TextModel& model, TextRange part) const {
  return model.tokenize_prompt(text_.substr(part.begin, part.end - part.begin), part.begin == 0,
                               ranges_within(literal_, part));
}

}  // namespace holdfast::cache
