// Kinds of option: how a text is validated and stored, and how a default is shown.
//
//   OptionKind kind = option_kinds::whole(&ServeOptions::port, 0, 65535);
//   kind.set(options, "8080")   true, and options.port is 8080
//   kind.set(options, "x")      false: the port needs `kind.expects`
//   kind.show(ServeOptions{})   "8080", for --help
//
// A field is whatever std::invoke turns a ServeOptions into a reference with: a
// pointer to a member, or in_sampling() of one. Kinds that one option alone has
// lie beside that option (option_groups_*.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/option_values.h"
#include "cli/options.h"
#include "cli/text_parts.h"

namespace holdfast::cli {

struct OptionKind {
  std::string expects;  // completes "--parallel needs ..."
  // Returns whether `text` is such a value; where it is not, its field may be spoilt.
  std::function<bool(ServeOptions&, std::string_view text)> set;
  // Empty: --help shows no default.
  std::function<std::string(const ServeOptions&)> show;
};

// Short names, for the tables of options only.
namespace option_kinds {

template <typename Member>
auto in_sampling(Member member) {
  return [member](auto& options) -> auto& { return options.sampling.*member; };
}

template <typename Field>
using ValueOf = std::remove_cvref_t<std::invoke_result_t<Field, ServeOptions&>>;

template <typename Field, typename Parse>
OptionKind integer(Field field, std::int64_t min, std::int64_t max, Parse parse,
                   std::string expects) {
  return {std::move(expects),
          [=](ServeOptions& options, std::string_view text) {
            const auto value = parse(text);
            if (!value || *value < min || *value > max) return false;
            std::invoke(field, options) = static_cast<ValueOf<Field>>(*value);
            return true;
          },
          [=](const ServeOptions& o) { return std::to_string(std::invoke(field, o)); }};
}

inline std::string range_text(std::int64_t min, std::int64_t max) {
  return "from " + std::to_string(min) + " to " + std::to_string(max);
}

template <typename Field>
OptionKind whole(Field field, std::int64_t min, std::int64_t max) {
  return integer(field, min, max, number_of<std::int64_t>,
                 "a whole number " + range_text(min, max));
}

// A number of tokens.
template <typename Field>
OptionKind tokens(Field field, std::int64_t min, std::int64_t max = std::int64_t{1} << 30) {
  return integer(field, min, max, count_of,
                 "a number of tokens " + range_text(min, max) + " (8192, or 8k)");
}

template <typename Field>
OptionKind real(Field field, double min, double max = std::numeric_limits<float>::max()) {
  const bool open = max == std::numeric_limits<float>::max();
  const std::string range = open ? " of at least " + show_number(min)
                                 : " from " + show_number(min) + " to " + show_number(max);
  return {"a number" + range,
          [=](ServeOptions& options, std::string_view text) {
            const auto value = number_of<double>(text);
            if (!value || *value < min || *value > max) return false;
            std::invoke(field, options) = static_cast<float>(*value);
            return true;
          },
          [=](const ServeOptions& o) { return show_number(std::invoke(field, o)); }};
}

// Negative means that the model decides.
template <typename Field>
OptionKind real_or_model(Field field) {
  OptionKind kind = real(field, -1.0);
  kind.show = [](const ServeOptions&) { return "from the model"; };
  return kind;
}

template <typename Field>
OptionKind text(Field field) {
  return {"a text that is not empty",
          [=](ServeOptions& options, std::string_view value) {
            std::invoke(field, options) = std::string(value);
            return !value.empty();
          },
          [=](const ServeOptions& o) { return std::invoke(field, o); }};
}

// Two options for one thing: the later one counts.
template <typename Field, typename Other>
OptionKind text_instead_of(Field field, Other other) {
  OptionKind kind = text(field);
  kind.set = [set = kind.set, other](ServeOptions& options, std::string_view value) {
    std::invoke(other, options).clear();
    return set(options, value);
  };
  return kind;
}

template <typename Field>
OptionKind flag(Field field) {
  return {"on or off",
          [=](ServeOptions& options, std::string_view value) {
            const auto truth = truth_of(value);
            if (truth) std::invoke(field, options) = *truth;
            return truth.has_value();
          },
          [=](const ServeOptions& o) { return std::invoke(field, o) ? "on" : ""; }};
}

template <typename Value>
using Names = std::vector<std::pair<std::string, Value>>;

template <typename Field>
OptionKind choice(Field field, Names<ValueOf<Field>> names) {
  std::vector<std::string> words;
  for (const auto& [name, value] : names) words.push_back(name);
  return {"one of " + join(words, ", "),
          [=](ServeOptions& options, std::string_view text) {
            for (const auto& [name, value] : names) {
              if (name == text) return std::invoke(field, options) = value, true;
            }
            return false;
          },
          [=](const ServeOptions& options) -> std::string {
            for (const auto& [name, value] : names) {
              if (value == std::invoke(field, options)) return name;
            }
            return "";
          }};
}

template <typename Field>
OptionKind word(Field field, std::initializer_list<std::string> words) {
  Names<std::string> names;
  for (const std::string& name : words) names.emplace_back(name, name);
  return choice(field, std::move(names));
}

template <typename Field>
OptionKind on_off_auto(Field field) {
  return choice(field, {{"on", OnOffAuto::kOn},
                        {"off", OnOffAuto::kOff},
                        {"auto", OnOffAuto::kAuto},
                        {"1", OnOffAuto::kOn},
                        {"0", OnOffAuto::kOff}});
}

enum class ListMode { kAppend, kReplace };

template <typename Field>
OptionKind list(Field field, ListMode mode, std::string_view separators = ",") {
  return {"at least one item that is not empty",
          [=](ServeOptions& options, std::string_view text) {
            auto& items = std::invoke(field, options);
            if (mode == ListMode::kReplace) items.clear();
            const auto parts = split(text, separators);
            items.insert(items.end(), parts.begin(), parts.end());
            return !parts.empty();
          },
          [=](const ServeOptions& o) { return join(std::invoke(field, o), ","); }};
}

}  // namespace option_kinds
}  // namespace holdfast::cli
