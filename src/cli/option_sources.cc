#include "cli/option_sources.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <utility>

#include "cli/nearest_name.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

// --- the environment: HOLDFAST_<NAME>, and llama-server's variables ---------------

constexpr std::string_view kOurs = "HOLDFAST_";

// "--ctx-size" -> "CTX_SIZE".
std::string variable_of(std::string_view long_name) {
  std::string name;
  for (const char c : long_name.substr(2))
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// Kubernetes sets HOLDFAST_PORT=tcp://10.0.0.1:80 in every container beside a
// service called holdfast.
bool is_kubernetes_link(const std::string& value) { return value.starts_with("tcp://"); }

// A variable that is set and empty is as good as none, except where that would leave a server open
// that was meant to be closed: then it is a value like any other, and refused.
bool closes_server(const Option& option) { return option.names.starts_with("--api-key"); }

void take_variable(const Environment& env, const std::string& variable, const NamedOption& named,
                   GivenOptions& all) {
  const auto found = env.find(variable);
  if (found == env.end() || is_kubernetes_link(found->second)) return;
  if (found->second.empty() && !closes_server(*named.option)) return;
  all.push_back({named.option, variable, named.value(found->second), variable});
}

bool has_variable(const NamedOption& named) {
  return named.name.starts_with("--") && named.option->support != Support::kCommandLineOnly;
}

GivenOptions from_environment(const Environment& env, const OptionNames& names) {
  GivenOptions all;
  for (const NamedOption& named : names.all()) {
    if (has_variable(named)) take_variable(env, environment_name(named.name), named, all);
  }
  return all;
}

GivenOptions from_llama_environment(const Environment& env, const OptionNames& names) {
  GivenOptions all;
  const Option* last = nullptr;  // each option once, whatever its names
  for (const NamedOption& named : names.all()) {
    std::string variable = named.option->llama_env;
    if (named.option != last) {
      for (const std::string& one : split(variable, ", ")) take_variable(env, one, named, all);
    }
    last = named.option;
    if (variable.empty() || !named.off) continue;
    // llama-server: the mere presence of LLAMA_ARG_NO_MMAP turns mmap off.
    variable.insert(std::string_view("LLAMA_ARG_").size(), "NO_");
    if (env.contains(variable)) all.push_back({named.option, variable, "off", variable});
  }
  return all;
}

// --- the config file: lines of `name = value` -------------------------------------
// CLI11 reads such files too, but cannot say in which line a mistake is.

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

Error unknown_key(const std::string& key, const std::string& where, const OptionNames& names) {
  std::vector<std::string> known;
  for (const NamedOption& named : names.all()) {
    if (named.name.starts_with("--")) known.push_back(named.name.substr(2));
  }
  std::erase(known, key);  // an option that is not for files
  const std::string nearest = nearest_name(key, known);
  return invalid_argument(key,
                          where + ": unknown key " + key +
                              did_you_mean(nearest, "; keys are long option names without dashes"));
}

Result<GivenOption> take_config_line(std::string_view line, const std::string& where,
                                     const OptionNames& names) {
  const auto equals = line.find('=');
  const std::string key(trim(line.substr(0, equals)));
  const auto named = names.find("--" + key);
  if (!named || named->option->support == Support::kCommandLineOnly || key == "config")
    return unknown_key(key, where, names);
  if (equals == std::string_view::npos && !is_flag(*named->option)) {
    return invalid_argument(
        key, where + ": " + key + " needs a value: " + key + " = " + named->option->value);
  }
  const std::string value =
      equals == std::string_view::npos ? "on" : config_value(line.substr(equals + 1));
  return GivenOption{named->option, key, named->value(value), where + ": " + key};
}

Result<GivenOptions> from_config(const std::string& path, const FileReader& files,
                                 const OptionNames& names) {
  auto text = files(path);
  if (!text) return text.error();
  GivenOptions all;
  std::istringstream lines(text.value());
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = path + ":" + std::to_string(++number);
    const std::string_view content = trim(line);
    if (content.empty() || content.starts_with('#') || content == "[serve]") continue;
    if (content.starts_with('[')) {
      return invalid_argument("config", where + ": unknown section " + std::string(content) +
                                            "; the only one is [serve]");
    }
    auto taken = take_config_line(content, where, names);
    if (!taken) return taken.error();
    all.push_back(std::move(taken).value());
  }
  return all;
}

// --- all of them ------------------------------------------------------------------

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

std::string environment_name(std::string_view long_name) {
  return std::string(kOurs) + variable_of(long_name);
}

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

void note_misspelled(const Environment& env, const OptionNames& names,
                     std::vector<std::string>& notes) {
  std::vector<std::string> known;
  for (const NamedOption& named : names.all()) {
    if (has_variable(named)) known.push_back(variable_of(named.name));
  }
  for (const auto& [variable, value] : env) {
    if (!variable.starts_with(kOurs) || is_kubernetes_link(value)) continue;
    const std::string name = variable.substr(kOurs.size());
    const std::string nearest = nearest_name(name, known);
    if (nearest.empty() || nearest == name) continue;
    notes.push_back("the environment variable " + variable + " is not an option; did you mean " +
                    std::string(kOurs) + nearest + "?");
  }
}

}  // namespace holdfast::cli
