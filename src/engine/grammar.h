// Grammar: a grammar in llama.cpp's GBNF, compiled.
//
//   root ::= "a" x{2,3}       rule 0:  'a' ref 1 ref 1 ref 2 END
//   x    ::= [b-d] | "e"      rule 1:  [b -d] ALT 'e' END
//                             rule 2:  ref 1 ALT END             (the optional third)
//
// The language is that of llama.cpp v0.5.0. The differences, all for the sake of bounds:
//   - {m,n} with n < m is an error; the library takes all memory for it
//   - a repetition may have up to kRepetitionsMax rounds rather than 2000; a larger n means no end
//   - a repeated item of several elements becomes a rule, so that it is not copied
//   - recursion at the left edge is an error exactly if it would make a stack grow without end
//
// Invariants, held by compile() and tested in grammar_test:
//   GRAMMAR-1  a grammar has at most GrammarLimits::elements() elements, and compiling it takes
//   time
//              and memory in proportion to its text and elements
//   GRAMMAR-2  references name rules that exist, and no rule can begin with itself and a rest
//   GRAMMAR-3  code points of one class are alike for every element
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/grammar_limits.h"
#include "state/tokens.h"

namespace holdfast::engine {

struct GrammarElement {
  enum class Kind : std::uint8_t {
    kEnd,          // of a rule
    kAlternative,  // ends one alternative, another follows
    kRule,         // value: a rule
    kChar,         // begins a set of code points
    kCharNot,      // the same, complemented
    kCharUpper,    // makes the element before it a range
    kCharMore,     // one more code point, or range, of the set
    kAnyChar,
    kToken,  // value: a token
    kTokenNot,
  };
  Kind kind = Kind::kEnd;
  std::uint32_t value = 0;

  [[nodiscard]] bool ends_alternative() const {
    return kind == Kind::kEnd || kind == Kind::kAlternative;
  }
};

// The token that a text such as "<|im_end|>" is, where it is one.
using TokenNamed = std::function<std::optional<Token>(std::string_view)>;

class Grammar {
 public:
  using Position = std::uint32_t;  // of an element

  // The Error is one sentence on what is wrong with the text; it names no field.
  [[nodiscard]] static Result<Grammar> compile(std::string_view text, const GrammarLimits& limits,
                                               const TokenNamed& token_named);

  [[nodiscard]] const GrammarElement& at(Position position) const { return elements_[position]; }
  [[nodiscard]] Position rule(std::uint32_t id) const { return rules_[id]; }
  [[nodiscard]] Position root() const { return rules_[root_]; }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }

  // The set of code points that begins at `position`: what follows it, and whether it holds one.
  [[nodiscard]] Position after_set(Position position) const;
  [[nodiscard]] bool set_holds(Position position, std::uint32_t code_point) const;

  // GRAMMAR-3.
  [[nodiscard]] std::size_t classes() const { return class_begins_.size(); }
  [[nodiscard]] std::uint32_t class_of(std::uint32_t code_point) const {
    return code_point < ascii_.size() ? ascii_[code_point] : find_class(code_point);
  }
  [[nodiscard]] std::uint32_t member(std::uint32_t class_id) const {
    return class_begins_[class_id];
  }

 private:
  void find_classes();
  [[nodiscard]] std::uint32_t find_class(std::uint32_t code_point) const;

  std::vector<GrammarElement> elements_;
  std::vector<Position> rules_;
  std::uint32_t root_ = 0;
  std::vector<std::uint32_t> class_begins_;  // ascending, from 0
  std::vector<std::uint32_t> ascii_;
};

}  // namespace holdfast::engine
