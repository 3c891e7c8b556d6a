#include "engine/gbnf_parser.h"

#include <utility>

#include "engine/gbnf_text.h"

namespace holdfast::engine {

namespace {

using Kind = GrammarElement::Kind;

constexpr std::uint64_t kNoEnd = UINT64_MAX;
// A repeated item with more elements than this becomes a rule of its own.
constexpr std::size_t kCopiedElementsMax = 4;

bool is_repetition(char c) { return c == '*' || c == '+' || c == '?' || c == '{'; }

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const GrammarLimits& limits, const TokenNamed& token_named)
      : text_(text), limits_(limits), token_named_(token_named) {}

  ParsedGrammar parse() {
    text_.skip_space(true);
    while (!text_.ended()) read_rule();
    const auto root = parsed_.names.find("root");
    if (root == parsed_.names.end()) throw GbnfError{"The grammar has no rule named 'root'."};
    parsed_.root = root->second;
    check_references();
    return std::move(parsed_);
  }

 private:
  // --- rules -----------------------------------------------------------------
  std::uint32_t new_rule(std::uint32_t owner) {
    parsed_.rules.emplace_back();
    parsed_.owners.push_back(owner);
    return static_cast<std::uint32_t>(parsed_.rules.size() - 1);
  }

  std::uint32_t rule_named(std::string_view name) {
    if (const auto known = parsed_.names.find(name); known != parsed_.names.end()) {
      return known->second;
    }
    const std::uint32_t id = new_rule(static_cast<std::uint32_t>(parsed_.rules.size()));
    parsed_.names.emplace(name, id);
    return id;
  }

  void count(std::size_t elements) {
    elements_ += elements;
    if (elements_ > limits_.elements()) {
      throw GbnfError{"The grammar, with its repetitions written out, has more than " +
                          std::to_string(limits_.elements()) + " elements.",
                      ErrorCode::kTooLarge};
    }
  }

  void push(GrammarRule& rule, Kind kind, std::uint32_t value = 0) {
    count(1);
    rule.push_back({kind, value});
  }

  void read_rule() {
    const std::uint32_t id = rule_named(text_.read_name());
    text_.skip_space(false);
    for (const char c : {':', ':', '='}) text_.expect(c);
    text_.skip_space(true);
    GrammarRule rule = read_alternatives(id, 0);
    parsed_.rules[id] = std::move(rule);
    if (!text_.ended() && text_.look() != '\r' && text_.look() != '\n')
      text_.fail("a rule goes on strangely");
    text_.skip_space(true);
  }

  GrammarRule read_alternatives(std::uint32_t owner, int depth) {
    GrammarRule rule;
    read_sequence(rule, owner, depth);
    while (text_.look() == '|') {
      text_.skip(1);
      push(rule, Kind::kAlternative);
      text_.skip_space(true);
      read_sequence(rule, owner, depth);
    }
    push(rule, Kind::kEnd);
    return rule;
  }

  // `item` is where the last item begins: what a repetition repeats.
  void read_sequence(GrammarRule& rule, std::uint32_t owner, int depth) {
    std::size_t item = rule.size();
    for (;;) {
      if (is_repetition(text_.look())) {
        if (item == rule.size()) text_.fail("nothing stands before a repetition");
        const auto [least, most] = read_repetition(depth > 0);
        repeat(rule, item, owner, least, most);
      } else {
        const std::size_t begin = rule.size();
        if (!read_item(rule, owner, depth)) return;
        item = begin;
      }
      text_.skip_space(depth > 0);
    }
  }

  bool read_item(GrammarRule& rule, std::uint32_t owner, int depth) {
    const char c = text_.look();
    if (c == '"') {
      read_literal(rule);
    } else if (c == '[') {
      read_set(rule);
    } else if (c == '<' || c == '!') {
      read_token(rule);
    } else if (c == '(') {
      read_group(rule, owner, depth);
    } else if (c == '.') {
      text_.skip(1);
      push(rule, Kind::kAnyChar);
    } else if (is_gbnf_word(c)) {
      push(rule, Kind::kRule, rule_named(text_.read_name()));
    } else {
      return false;
    }
    return true;
  }

  void read_literal(GrammarRule& rule) {
    text_.skip(1);
    while (text_.look() != '"') push(rule, Kind::kChar, text_.read_char());
    text_.skip(1);
  }

  void read_set(GrammarRule& rule) {
    text_.skip(1);
    const bool complemented = text_.look() == '^';
    if (complemented) text_.skip(1);
    const std::size_t begin = rule.size();
    while (text_.look() != ']') {
      const std::uint32_t first = text_.read_char();
      const Kind kind = complemented ? Kind::kCharNot : Kind::kChar;
      push(rule, rule.size() > begin ? Kind::kCharMore : kind, first);
      if (text_.look() != '-' || text_.look(1) == ']') continue;
      text_.skip(1);
      push(rule, Kind::kCharUpper, text_.read_char());
    }
    text_.skip(1);
    if (rule.size() == begin) text_.fail("a set of characters is empty");
  }

  // <[1000]>, <|im_end|>, and with a ! before them all other tokens
  void read_token(GrammarRule& rule) {
    const Kind kind = text_.look() == '!' ? Kind::kTokenNot : Kind::kToken;
    if (kind == Kind::kTokenNot) text_.skip(1);
    if (text_.look() != '<') text_.fail("'<' is missing");
    if (text_.look(1) == '[') {
      text_.skip(2);
      const std::uint64_t id = text_.read_number();
      text_.expect(']');
      text_.expect('>');
      if (id > INT32_MAX) text_.fail("there is no such token");
      return push(rule, kind, static_cast<std::uint32_t>(id));
    }
    const std::string_view name = text_.read_bracketed();
    const auto token = token_named_(name);
    if (!token) text_.fail("'" + std::string(name) + "' is not one token");
    push(rule, kind, static_cast<std::uint32_t>(*token));
  }

  void read_group(GrammarRule& rule, std::uint32_t owner, int depth) {
    if (depth >= kGroupDepthMax) text_.fail("groups are nested too deep");
    text_.skip(1);
    text_.skip_space(true);
    const std::uint32_t id = new_rule(owner);
    GrammarRule group = read_alternatives(owner, depth + 1);
    parsed_.rules[id] = std::move(group);
    text_.expect(')');
    push(rule, Kind::kRule, id);
  }

  // --- repetitions -----------------------------------------------------------
  std::pair<std::uint64_t, std::uint64_t> read_repetition(bool newlines) {
    const char c = text_.look();
    text_.skip(1);
    if (c == '*') return {0, kNoEnd};
    if (c == '+') return {1, kNoEnd};
    if (c == '?') return {0, 1};
    text_.skip_space(newlines);
    const std::uint64_t least = text_.read_number();
    std::uint64_t most = least;
    text_.skip_space(newlines);
    if (text_.look() == ',') {
      text_.skip(1);
      text_.skip_space(newlines);
      most = is_gbnf_digit(text_.look()) ? text_.read_number() : kNoEnd;
      text_.skip_space(newlines);
    }
    text_.expect('}');
    if (most < least) {
      text_.fail("the repetition {" + std::to_string(least) + "," + std::to_string(most) +
                 "} ends before it begins");
    }
    if (least > kRepetitionsMax) text_.fail("a repetition has more than 65536 rounds");
    return {least, most > kRepetitionsMax ? kNoEnd : most};
  }

  // S{m,n} becomes S S ... (m times) and then rest(n-m), where
  //   rest(k) ::= S rest(k-1) |          rest(1) ::= S |        without end: rest ::= S rest |
  void repeat(GrammarRule& rule, std::size_t item, std::uint32_t owner, std::uint64_t least,
              std::uint64_t most) {
    GrammarRule repeated(rule.begin() + static_cast<std::ptrdiff_t>(item), rule.end());
    if (repeated.size() > kCopiedElementsMax && most > 1) repeated = as_rule(repeated, owner);
    rule.resize(item);
    for (std::uint64_t i = 0; i < least; ++i) append(rule, repeated);
    if (most == kNoEnd) {
      const std::uint32_t rest = new_rule(owner);
      add_rest(rest, repeated, rest);
      return push(rule, Kind::kRule, rest);
    }
    std::optional<std::uint32_t> rest;
    for (std::uint64_t i = least; i < most; ++i) {
      const std::uint32_t longer = new_rule(owner);
      add_rest(longer, repeated, rest);
      rest = longer;
    }
    if (rest) push(rule, Kind::kRule, *rest);
  }

  GrammarRule as_rule(GrammarRule content, std::uint32_t owner) {
    const std::uint32_t id = new_rule(owner);
    push(content, Kind::kEnd);
    parsed_.rules[id] = std::move(content);
    return {{Kind::kRule, id}};
  }

  void append(GrammarRule& rule, const GrammarRule& more) {
    count(more.size());
    rule.insert(rule.end(), more.begin(), more.end());
  }

  void add_rest(std::uint32_t id, const GrammarRule& repeated, std::optional<std::uint32_t> rest) {
    GrammarRule rule;
    rule.reserve(repeated.size() + 3);
    append(rule, repeated);
    if (rest) push(rule, Kind::kRule, *rest);
    push(rule, Kind::kAlternative);
    push(rule, Kind::kEnd);
    parsed_.rules[id] = std::move(rule);
  }

  void check_references() const {
    for (const auto& [name, id] : parsed_.names) {
      if (parsed_.rules[id].empty()) throw GbnfError{"The rule '" + name + "' is not defined."};
    }
  }

  GbnfText text_;
  const GrammarLimits& limits_;
  const TokenNamed& token_named_;
  std::size_t elements_ = 0;
  ParsedGrammar parsed_;
};

}  // namespace

std::string ParsedGrammar::name_of(std::uint32_t rule) const {
  for (const auto& [name, id] : names) {
    if (id == owners[rule]) return name;
  }
  return "?";
}

Result<ParsedGrammar> parse_gbnf(std::string_view text, const GrammarLimits& limits,
                                 const TokenNamed& token_named) {
  try {
    return GbnfParser(text, limits, token_named).parse();
  } catch (const GbnfError& error) {
    return Error{error.code, error.message, ""};
  }
}

}  // namespace holdfast::engine
