// Options from the config file: lines of `name = value`.
#include <algorithm>
#include <sstream>
#include <utility>

#include "cli/nearest_name.h"
#include "cli/option_sources.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

// The value of a config line: in double quotes verbatim, else up to a comment.
std::string config_value(std::string_view text) {
  text = trim(text);
  if (text.starts_with('"')) {
    const auto end = text.find('"', 1);
    const bool alone = end != std::string_view::npos && [&] {
      const auto rest = trim(text.substr(end + 1));
      return rest.empty() || rest.starts_with('#');
    }();
    if (alone) return std::string(text.substr(1, end - 1));
  }
  const auto comment = std::min(text.find(" #"), text.find("\t#"));
  return std::string(trim(text.substr(0, comment)));
}

Error unknown_key(const std::string& key, const std::string& place, const OptionNames& names) {
  std::vector<std::string> known;
  for (const NamedOption& named : names.all()) {
    if (named.name.starts_with("--")) known.push_back(named.name.substr(2));
  }
  std::erase(known, key);  // an option that is not for files
  const std::string nearest = nearest_name(key, known);
  return invalid_argument(key,
                          place + ": unknown key " + key +
                              did_you_mean(nearest, "; keys are long option names without dashes"));
}

Result<GivenOption> take_config_line(std::string_view line, const std::string& place,
                                     const OptionNames& names) {
  const auto equals = line.find('=');
  const std::string key(trim(line.substr(0, equals)));
  const auto named = names.find("--" + key);
  if (!named || named->option->support == Support::kCommandLineOnly || key == "config")
    return unknown_key(key, place, names);
  if (equals == std::string_view::npos && !is_flag(*named->option)) {
    return invalid_argument(
        key, place + ": " + key + " needs a value: " + key + " = " + named->option->value);
  }
  const std::string value =
      equals == std::string_view::npos ? "on" : config_value(line.substr(equals + 1));
  return GivenOption{named->option, key, named->value(value), place + ": " + key};
}

}  // namespace

Result<GivenOptions> from_config(const std::string& path, const FileReader& files,
                                 const OptionNames& names) {
  auto text = files(path);
  if (!text) return text.error();
  GivenOptions all;
  std::istringstream lines(text.value());
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string place = path + ":" + std::to_string(++number);
    const std::string_view content = trim(line);
    if (content.empty() || content.starts_with('#') || content == "[serve]") continue;
    if (content.starts_with('[')) {
      return invalid_argument("config", place + ": unknown section " + std::string(content) +
                                            "; the only one is [serve]");
    }
    auto taken = take_config_line(content, place, names);
    if (!taken) return taken.error();
    all.push_back(std::move(taken).value());
  }
  return all;
}

}  // namespace holdfast::cli
