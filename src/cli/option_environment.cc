// Options from the environment: ours, and llama-server's.
#include <cctype>

#include "cli/nearest_name.h"
#include "cli/option_sources.h"

namespace holdfast::cli {
namespace {

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

void take_variable(const Environment& env, const std::string& variable, const NamedOption& named,
                   GivenOptions& all) {
  const auto found = env.find(variable);
  if (found == env.end() || found->second.empty() || is_kubernetes_link(found->second)) return;
  all.push_back({named.option, variable, named.value(found->second), variable});
}

bool has_variable(const NamedOption& named) {
  return named.name.starts_with("--") && named.option->support != Support::kCommandLineOnly;
}

}  // namespace

GivenOptions from_environment(const Environment& env, const OptionNames& names) {
  GivenOptions all;
  for (const NamedOption& named : names.all()) {
    if (has_variable(named))
      take_variable(env, std::string(kOurs) + variable_of(named.name), named, all);
  }
  return all;
}

GivenOptions from_llama_environment(const Environment& env, const OptionNames& names) {
  GivenOptions all;
  const Option* last = nullptr;  // each option once, whatever its names
  for (const NamedOption& named : names.all()) {
    std::string variable = named.option->llama_env;
    if (!variable.empty() && named.option != last) take_variable(env, variable, named, all);
    last = named.option;
    if (variable.empty() || !named.off) continue;
    // llama-server: the mere presence of LLAMA_ARG_NO_MMAP turns mmap off.
    variable.insert(std::string_view("LLAMA_ARG_").size(), "NO_");
    if (env.contains(variable)) all.push_back({named.option, variable, "off", variable});
  }
  return all;
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
