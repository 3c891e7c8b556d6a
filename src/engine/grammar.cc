#include "engine/grammar.h"

#include <algorithm>
#include <string>

#include "engine/gbnf_parser.h"
#include "engine/left_recursion.h"

namespace holdfast::engine {

using Kind = GrammarElement::Kind;

Result<Grammar> Grammar::compile(std::string_view text, const GrammarLimits& limits,
                                 const TokenNamed& token_named) {
  auto parsed = parse_gbnf(text, limits, token_named);
  if (!parsed) return parsed.error();
  Grammar grammar;
  grammar.root_ = parsed->root;
  for (const auto& rule : parsed->rules) {
    grammar.rules_.push_back(static_cast<Position>(grammar.elements_.size()));
    grammar.elements_.insert(grammar.elements_.end(), rule.begin(), rule.end());
  }
  if (const auto rule = find_left_recursion(parsed->rules)) {
    return invalid_argument(
        "", "The rule '" + parsed->name_of(*rule) + "' can begin with itself (left recursion).");
  }
  grammar.find_classes();
  return grammar;
}

Grammar::Position Grammar::after_set(Position position) const {
  if (elements_[position].kind == Kind::kAnyChar) return position + 1;
  do {
    position += elements_[position + 1].kind == Kind::kCharUpper ? 2 : 1;
  } while (elements_[position].kind == Kind::kCharMore);
  return position;
}

bool Grammar::set_holds(Position position, std::uint32_t code_point) const {
  const Kind kind = elements_[position].kind;
  if (kind == Kind::kAnyChar) return true;
  bool found = false;
  do {
    const std::uint32_t first = elements_[position].value;
    const bool range = elements_[position + 1].kind == Kind::kCharUpper;
    const std::uint32_t last = range ? elements_[position + 1].value : first;
    found = first <= code_point && code_point <= last;
    position += range ? 2 : 1;
  } while (!found && elements_[position].kind == Kind::kCharMore);
  return found == (kind == Kind::kChar);
}

void Grammar::find_classes() {
  class_begins_.push_back(0);
  for (std::size_t i = 0; i + 1 < elements_.size(); ++i) {
    const Kind kind = elements_[i].kind;
    if (kind != Kind::kChar && kind != Kind::kCharNot && kind != Kind::kCharMore) continue;
    const bool range = elements_[i + 1].kind == Kind::kCharUpper;
    const std::uint32_t last = elements_[range ? i + 1 : i].value;
    class_begins_.push_back(elements_[i].value);
    if (last != UINT32_MAX) class_begins_.push_back(last + 1);
  }
  std::ranges::sort(class_begins_);
  const auto [unused, end] = std::ranges::unique(class_begins_);
  class_begins_.erase(unused, end);
  std::vector<std::uint32_t> ascii(128);
  for (std::uint32_t c = 0; c < 128; ++c) ascii[c] = find_class(c);
  ascii_ = std::move(ascii);
}

std::uint32_t Grammar::find_class(std::uint32_t code_point) const {
  const auto next = std::ranges::upper_bound(class_begins_, code_point);
  return static_cast<std::uint32_t>(next - class_begins_.begin()) - 1;
}

}  // namespace holdfast::engine
