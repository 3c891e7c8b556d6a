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

Result<Assignment> take_config_line(std::string_view line, const std::string& place) {
  const auto equals = line.find('=');
  std::string key(trim(line.substr(0, equals)));
  const auto named = find_option("--" + key);
  if (!named || named->option->support == Support::kCommandLineOnly || key == "config") {
    std::string nearest = nearest_name("--" + key, long_option_names());
    if (!nearest.empty()) nearest.erase(0, 2);
    return invalid_argument(
        key, place + ": unknown key " + key +
                 did_you_mean(nearest, "; keys are long option names without dashes"));
  }
  if (equals == std::string_view::npos && !is_flag(*named->option)) {
    return invalid_argument(
        key, place + ": " + key + " needs a value: " + key + " = " + named->option->value);
  }
  const std::string value =
      equals == std::string_view::npos ? "on" : config_value(line.substr(equals + 1));
  return Assignment{named->option, flag_value(*named, value), place + ": " + key, key,
                    OptionSource::kConfig};
}

}  // namespace

Result<Assignments> from_config(const std::string& path, const FileReader& files) {
  auto text = files(path);
  if (!text) return text.error();
  Assignments all;
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
    auto taken = take_config_line(content, place);
    if (!taken) return taken.error();
    all.push_back(std::move(taken).value());
  }
  return all;
}

}  // namespace holdfast::cli
