// Options from the environment: ours, and llama-server's.
#include <cctype>

#include "cli/nearest_name.h"
#include "cli/option_sources.h"

namespace holdfast::cli {
namespace {

// "--ctx-size" -> "HOLDFAST_CTX_SIZE".
std::string env_name(std::string_view long_name) {
  std::string name = "HOLDFAST_";
  for (const char c : long_name.substr(2)) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

// "HOLDFAST_CTX_SIZE" -> "--ctx-size".
std::string option_name(std::string_view variable) {
  std::string name = "--";
  for (const char c : variable.substr(std::string_view("HOLDFAST_").size())) {
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

// Kubernetes sets HOLDFAST_PORT=tcp://10.0.0.1:80 in every container beside a
// service called holdfast.
bool is_kubernetes_link(const std::string& value) { return value.starts_with("tcp://"); }

void take_variable(const Environment& env, const std::string& variable, NamedOption named,
                   OptionSource source, Assignments& all) {
  const auto found = env.find(variable);
  if (found == env.end() || found->second.empty() || is_kubernetes_link(found->second)) return;
  all.push_back({named.option, flag_value(named, found->second), variable, variable, source});
}

void take_llama_variables(const Environment& env, const Option& option, Assignments& all) {
  if (option.llama_env.empty()) return;
  take_variable(env, option.llama_env, {&option, false}, OptionSource::kLlamaEnvironment, all);
  if (names_of(option).off.empty()) return;
  // llama-server: the mere presence of LLAMA_ARG_NO_MMAP turns mmap off.
  std::string variable = option.llama_env;
  variable.replace(0, std::string_view("LLAMA_ARG_").size(), "LLAMA_ARG_NO_");
  if (!env.contains(variable)) return;
  all.push_back({&option, "off", variable, variable, OptionSource::kLlamaEnvironment});
}

}  // namespace

Assignments from_environment(const Environment& env) {
  Assignments all;
  for (const std::string& name : long_option_names()) {
    const NamedOption named = find_option(name).value();
    if (named.option->support == Support::kCommandLineOnly) continue;
    take_variable(env, env_name(name), named, OptionSource::kEnvironment, all);
  }
  for (const OptionGroup& group : option_table()) {
    for (const Option& option : group.options) take_llama_variables(env, option, all);
  }
  return all;
}

void note_misspelled(const Environment& env, std::vector<std::string>& notes) {
  for (const auto& [variable, value] : env) {
    if (!variable.starts_with("HOLDFAST_") || is_kubernetes_link(value)) continue;
    const std::string nearest = nearest_name(option_name(variable), long_option_names());
    if (nearest.empty() || env_name(nearest) == variable) continue;
    notes.push_back("the environment variable " + variable + " is not an option; did you mean " +
                    env_name(nearest) + "?");
  }
}

}  // namespace holdfast::cli
