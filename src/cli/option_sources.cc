#include "cli/option_sources.h"

#include <set>
#include <utility>

namespace holdfast::cli {
namespace {

Error unexpected_word(const std::string& word) {
  const std::string hint =
      word.ends_with(".gguf") ? "; did you mean --model " + word + "?" : "; options begin with -";
  return invalid_argument(word, "unexpected argument " + word + hint);
}

bool asks_for_help(const CommandLine& line) {
  return !line.options.empty() && line.options[0].option->support == Support::kCommandLineOnly;
}

// What no higher source overrides, the lowest source first.
GivenOptions without_overridden(std::vector<GivenOptions> highest_first) {
  GivenOptions all;
  std::set<const Option*> seen;
  for (GivenOptions& source : highest_first) {
    std::erase_if(source, [&](const GivenOption& given) { return seen.contains(given.option); });
    for (const GivenOption& given : source) seen.insert(given.option);
    all.insert(all.begin(), source.begin(), source.end());
  }
  return all;
}

}  // namespace

Result<GivenOptions> gather_options(const CommandSyntax& syntax, std::span<const std::string> args,
                                    const Environment& env, const FileReader& files) {
  const OptionNames names(syntax.groups);
  const auto line = read_command_line(syntax, args);
  if (!line) return line.error();
  if (asks_for_help(*line)) return line->options;
  if (!line->words.empty()) return unexpected_word(line->words.front());
  std::vector<GivenOptions> sources = {line->options, from_environment(env, names),
                                       from_llama_environment(env, names)};
  const Option* const config = names.find("--config")->option;
  std::string path;
  for (const GivenOption& given : without_overridden(sources)) {
    if (given.option == config) path = given.value;
  }
  if (!path.empty()) {
    auto read = from_config(path, files, names);
    if (!read) return read;
    sources.push_back(std::move(*read));
  }
  return without_overridden(std::move(sources));
}

}  // namespace holdfast::cli
