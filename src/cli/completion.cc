#include "cli/completion.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/command_tables.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kOneOf = "one of ";

std::vector<std::string> values_of(const Option& option) {
  const std::string& expects = option.kind.expects;
  if (!expects.starts_with(kOneOf)) return {};
  return split(std::string_view(expects).substr(kOneOf.size()), ",");
}

bool is_path(const std::string& value) {
  static const std::set<std::string> kPaths = {"PATH", "FILE", "DIR", "OUT.html"};
  return kPaths.contains(value);
}

std::string first_sentence(const std::string& text) {
  std::string sentence = text.substr(0, text.find(". "));
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

std::vector<OptionGroup> shown_groups(const CommandSyntax& syntax) {
  std::vector<OptionGroup> groups = syntax.groups;
  std::erase_if(groups, [](const OptionGroup& group) { return group.title.empty(); });
  return groups;
}

std::vector<CompletedOption> options_of(const CommandSyntax& syntax) {
  const std::vector<OptionGroup> groups = shown_groups(syntax);
  std::vector<CompletedOption> options;
  const OptionNames names(groups);
  for (const NamedOption& named : names.all()) {
    const Option& option = *named.option;
    options.push_back({named.name, first_sentence(option.help), option.value, values_of(option),
                       is_path(option.value)});
  }
  return options;
}

bool names_a_file(const std::string& usage) { return usage.find("FILE") != std::string::npos; }

CompletedCommand completed(const CommandSyntax& syntax) {
  CompletedCommand command;
  command.name = name_of(syntax);
  command.options = options_of(syntax);
  for (const SubCommand& sub : syntax.commands) {
    command.words.push_back({first_word(sub.usage), sub.about});
    command.files = command.files || names_a_file(sub.usage);
  }
  return command;
}

void add_missing(const std::vector<CompletedOption>& from, std::vector<CompletedOption>& to) {
  for (const CompletedOption& option : from) {
    if (std::ranges::find(to, option.name, &CompletedOption::name) == to.end())
      to.push_back(option);
  }
}

// What the overview of all commands says about one.
void introduce(const SubCommand& sub, std::vector<CompletedCommand>& commands) {
  const std::string name = first_word(sub.usage);
  auto found = std::ranges::find(commands, name, &CompletedCommand::name);
  if (found == commands.end()) {
    commands.push_back({.name = name});
    found = commands.end() - 1;
  }
  found->about = sub.about;
  found->files = found->files || names_a_file(sub.usage);
}

}  // namespace

std::vector<CompletedCommand> completed_commands() {
  std::vector<CompletedCommand> commands;
  std::vector<SubCommand> overview;
  std::map<std::string, std::vector<CompletedOption>> by_name;
  visit_commands([&](const CommandSyntax& syntax) {
    if (name_of(syntax).empty()) {
      overview = syntax.commands;
      return;
    }
    CompletedCommand command = completed(syntax);
    by_name[command.name] = command.options;
    if (!syntax.options_of.empty()) add_missing(by_name[syntax.options_of], command.options);
    commands.push_back(std::move(command));
  });
  for (const SubCommand& sub : overview) introduce(sub, commands);
  for (CompletedCommand& command : commands) {
    if (command.name == "completion") command.words = {{"bash", ""}, {"zsh", ""}, {"fish", ""}};
    if (command.name != "manual") continue;
    for (const auto& [name, options] : by_name) command.words.push_back({name, ""});
  }
  return commands;
}

Result<std::string> completion(std::span<const std::string> args) {
  const std::string shell = args.size() == 1 ? args[0] : "";
  if (shell == "bash") return bash_completion(completed_commands());
  if (shell == "zsh") return zsh_completion(completed_commands());
  if (shell == "fish") return fish_completion(completed_commands());
  const std::string known = "bash, zsh or fish: holdfast completion bash.";
  if (args.empty()) return invalid_argument("SHELL", "for which shell? " + known);
  return invalid_argument("SHELL",
                          "there are no completions for '" + args[0] + "', but for " + known);
}

}  // namespace holdfast::cli
