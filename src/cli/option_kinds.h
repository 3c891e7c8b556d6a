// Kinds of option: each validates a text, stores it in a field, and shows the field's default.
//
//   OptionKind kind = option_kinds::whole(options.port, 0, 65535);
//   kind.set("8080")   true, and options.port is 8080
//   kind.set("x")      false: the option needs `kind.expects`
//   kind.shown         "8080": what the field held before, for --help
//
// Kinds that one option alone has lie beside that option.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/command_syntax.h"
#include "cli/option_values.h"
#include "cli/text_parts.h"

// Short names, for the tables of options only.
namespace holdfast::cli::option_kinds {

// Fields may be optional; the default is then somebody else's.
template <typename T>
[[nodiscard]] std::string shown_number(const T& field) {
  if constexpr (std::is_integral_v<T>) return std::to_string(field);
  return show_number(static_cast<double>(field));
}
template <typename T>
[[nodiscard]] std::string shown_number(const std::optional<T>&) {
  return "";
}
template <typename T>
void store(T& field, auto value) {
  field = static_cast<T>(value);
}
template <typename T>
void store(std::optional<T>& field, auto value) {
  field = static_cast<T>(value);
}

// `parse` turns a text into an optional number.
template <typename Field, typename Number, typename Parse>
OptionKind number(Field& field, Number min, Number max, Parse parse, std::string expects) {
  return {std::move(expects),
          [=, &field](std::string_view text) {
            const auto value = parse(text);
            if (!value || *value < min || *value > max) return false;
            store(field, *value);
            return true;
          },
          shown_number(field)};
}

[[nodiscard]] std::string range_text(std::int64_t min, std::int64_t max);

template <typename Field>
OptionKind whole(Field& field, std::int64_t min, std::int64_t max) {
  return number(field, min, max, number_of<std::int64_t>, "a whole number " + range_text(min, max));
}

// A number of tokens.
template <typename Field>
OptionKind tokens(Field& field, std::int64_t min, std::int64_t max = std::int64_t{1} << 30) {
  return number(field, min, max, count_of,
                "a number of tokens " + range_text(min, max) + " (8192, or 8k)");
}

template <typename Field>
OptionKind real(Field& field, double min, double max = std::numeric_limits<float>::max()) {
  const bool open = max == std::numeric_limits<float>::max();
  const std::string range = open ? " of at least " + show_number(min)
                                 : " from " + show_number(min) + " to " + show_number(max);
  return number(field, min, max, number_of<double>, "a number" + range);
}

// The kind with another text for the default.
[[nodiscard]] OptionKind with_default(OptionKind kind, std::string shown);
// Negative means that the model decides.
[[nodiscard]] OptionKind real_or_model(float& field);

[[nodiscard]] OptionKind text(std::string& field);  // never empty
[[nodiscard]] OptionKind any_text(std::string& field);
// Two options for one thing: the later one counts.
[[nodiscard]] OptionKind text_instead_of(std::string& field, std::string& other);

// Another way to name a server's address: a port of this machine.
[[nodiscard]] OptionKind local_port(std::string& url);

[[nodiscard]] OptionKind flag(bool& field);
// The option turns the field off.
[[nodiscard]] OptionKind turn_off(bool& field);

enum class ListMode { kAppend, kReplace };
[[nodiscard]] OptionKind list(std::vector<std::string>& field, ListMode mode,
                              std::string_view separators = ",");
// Several, in place of what was there. `parse` turns each into an optional item.
template <typename Item, typename Parse>
OptionKind items(std::vector<Item>& field, std::string_view separators, Parse parse,
                 std::string expects, std::string shown = "") {
  return {std::move(expects),
          [=, &field](std::string_view text) {
            field.clear();
            for (const std::string& part : split(text, separators)) {
              const auto item = parse(part);
              if (!item) return false;
              field.push_back(*item);
            }
            return !field.empty();
          },
          std::move(shown)};
}

template <typename Value>
OptionKind choice(Value& field, std::vector<std::pair<std::string, Value>> names) {
  std::vector<std::string> words;
  std::string shown;
  for (const auto& [name, value] : names) {
    words.push_back(name);
    if (value == field && shown.empty()) shown = name;
  }
  return {"one of " + join(words, ", "),
          [names = std::move(names), &field](std::string_view text) {
            for (const auto& [name, value] : names) {
              if (name == text) return field = value, true;
            }
            return false;
          },
          shown};
}

[[nodiscard]] OptionKind word(std::string& field, std::initializer_list<std::string> words);

[[nodiscard]] Option help_option(bool& asked);

}  // namespace holdfast::cli::option_kinds
