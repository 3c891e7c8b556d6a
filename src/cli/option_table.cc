#include "cli/option_table.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/check.h"
#include "cli/option_groups.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

using OptionsByName = std::map<std::string, NamedOption, std::less<>>;

void add_names(const Option& option, OptionsByName& map) {
  const OptionNames names = names_of(option);
  for (const std::string& name : names.on)
    CHECK(map.try_emplace(name, NamedOption{&option, false}).second);
  for (const std::string& name : names.off)
    CHECK(map.try_emplace(name, NamedOption{&option, true}).second);
}

const OptionsByName& options_by_name() {
  static const OptionsByName names = [] {
    OptionsByName map;
    for (const OptionGroup& group : option_table()) {
      for (const Option& option : group.options) add_names(option, map);
    }
    return map;
  }();
  return names;
}

}  // namespace

const std::vector<OptionGroup>& option_table() {
  static const std::vector<OptionGroup> groups = {
      model_group(),   context_group(), reuse_group(),     speculation_group(),
      compute_group(), server_group(),  chat_group(),      sampling_group(),
      rope_group(),    log_group(),     no_effect_group(), unsupported_group()};
  return groups;
}

OptionNames names_of(const Option& option) {
  const auto slash = option.names.find(" / ");
  if (slash == std::string::npos) return {split(option.names, ","), {}};
  return {split(option.names.substr(0, slash), ","), split(option.names.substr(slash + 3), ",")};
}

std::optional<NamedOption> find_option(std::string name) {
  if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
  const auto found = options_by_name().find(name);
  if (found == options_by_name().end()) return std::nullopt;
  return found->second;
}

std::string flag_value(const NamedOption& named, const std::string& value) {
  if (!named.off) return value;
  const auto truth = truth_of(value);
  if (!truth) return value;
  return *truth ? "off" : "on";
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const auto& [name, named] : options_by_name()) names.push_back(name);
  return names;
}

std::vector<std::string> long_option_names() {
  std::vector<std::string> names = option_names();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("--"); });
  return names;
}

}  // namespace holdfast::cli
