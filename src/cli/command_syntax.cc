#include "cli/command_syntax.h"

#include <algorithm>

#include "base/check.h"
#include "cli/option_values.h"
#include "cli/text_parts.h"

namespace holdfast::cli {

std::string NamedOption::value(const std::string& text) const {
  const auto truth = truth_of(text);
  if (!off || !truth) return text;
  return *truth ? "off" : "on";
}

OptionNames::OptionNames(const std::vector<OptionGroup>& groups) {
  for (const OptionGroup& group : groups) {
    for (const Option& option : group.options) {
      const auto off = std::min(option.names.find(" / "), option.names.size());
      for (const std::string& name : split(option.names.substr(0, off), ","))
        all_.push_back({&option, name, false});
      for (const std::string& name : split(option.names.substr(off), " /,"))
        all_.push_back({&option, name, true});
    }
  }
  for (std::size_t i = 0; i < all_.size(); ++i) CHECK(by_name_.emplace(all_[i].name, i).second);
}

std::optional<NamedOption> OptionNames::find(std::string argument) const {
  argument.resize(std::min(argument.find('='), argument.size()));
  if (argument.starts_with("--")) std::ranges::replace(argument, '_', '-');
  const auto found = by_name_.find(argument);
  if (found == by_name_.end()) return std::nullopt;
  return all_[found->second];
}

}  // namespace holdfast::cli
