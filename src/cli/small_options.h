// Reads one option of a command that has a few of them (chat, explain).
//
// `Option` has a name, a value ("" for a flag: the placeholder in --help) and a
// setter that says whether the value will do. The large table of `serve` has a
// reader of its own (option_arguments.cc). `command` is what --help follows: "holdfast chat".
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/nearest_name.h"

namespace holdfast::cli {

template <typename Option>
[[nodiscard]] Error unknown_small_option(const std::string& name, const std::vector<Option>& all,
                                         const std::string& command) {
  std::vector<std::string> known;
  for (const Option& option : all) known.push_back(option.name);
  return invalid_argument(
      name, "unknown option " + name +
                did_you_mean(nearest_name(name, known), "; see " + command + " --help"));
}

// Takes the option at `args[at]`, with its value, and moves `at` behind it. `find`
// turns a name into an option, or null.
template <typename Option, typename Options, typename Find>
[[nodiscard]] Result<void> take_small_option(std::span<const std::string> args, std::size_t& at,
                                             Options& options, const std::vector<Option>& all,
                                             Find find, const std::string& command) {
  const std::string& argument = args[at++];
  const auto equals = std::min(argument.find('='), argument.size());
  const std::string name = argument.substr(0, equals);
  const Option* option = find(name);
  if (option == nullptr) return unknown_small_option(name, all, command);
  std::string value;
  if (equals < argument.size()) {
    value = argument.substr(equals + 1);
  } else if (!option->value.empty()) {
    if (at == args.size()) {
      return invalid_argument(name,
                              "option " + name + " needs a value: " + name + " " + option->value);
    }
    value = args[at++];
  }
  if (option->set(options, value)) return {};
  return invalid_argument(name, "option " + name + " cannot be \"" + value + "\"");
}

}  // namespace holdfast::cli
