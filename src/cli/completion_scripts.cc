// The scripts that shells read. Whatever stands in a table is quoted: single quotes hold it.
#include "cli/completion.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// For bash and zsh.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", R"('\'')") + "'"; }
// fish has two escapes within single quotes.
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

template <typename Items, typename Text>
std::string joined(const Items& items, std::string_view separator, const Text& text) {
  std::vector<std::string> parts;
  for (const auto& item : items) parts.push_back(text(item));
  return join(parts, separator);
}

std::string head(std::string_view shell) {
  return "# Completion of holdfast for " + std::string(shell) +
         ", written by `holdfast completion " + std::string(shell) + "`.\n";
}

// --- bash -----------------------------------------------------------------------------------

std::string bash_values(const CompletedCommand& command) {
  std::string text;
  for (const CompletedOption& option : command.options) {
    if (option.value.empty()) continue;
    text += "    " + command.name + ":" + option.name +
            ") words=" + quoted(join(option.values, " ")) + " ;;\n";
  }
  return text;
}

std::string bash_command(const CompletedCommand& command) {
  const auto name = [](const CompletedOption& option) { return option.name; };
  const auto word = [](const CompletedWord& one) { return one.word; };
  return "    " + command.name +
         ":*) if [[ $cur == -* ]]; then words=" + quoted(joined(command.options, " ", name)) +
         "; else words=" + quoted(joined(command.words, " ", word)) + "; fi ;;\n";
}

// --- zsh ------------------------------------------------------------------------------------

std::string zsh_described(const std::string& word, const std::string& about) {
  return quoted(replaced(word, ":", "\\:") + ":" + about);
}

// '--model[The model]:PATH:_files'
std::string zsh_option(const CompletedOption& option) {
  std::string help = replaced(replaced(option.help, "[", "("), "]", ")");
  std::string spec = "*" + option.name + "[" + replaced(help, ":", "\\:") + "]";
  if (!option.value.empty()) {
    spec += ":" + replaced(option.value, ":", "\\:") + ":";
    if (option.path) spec += "_files";
    if (!option.values.empty()) spec += "(" + join(option.values, " ") + ")";
  }
  return "        " + quoted(spec) + " \\\n";
}

std::string zsh_command(const CompletedCommand& command) {
  std::string text = "    " + command.name + ")\n      _arguments -S \\\n";
  for (const CompletedOption& option : command.options) text += zsh_option(option);
  const auto word = [](const CompletedWord& one) { return one.word; };
  const std::string rest = command.files           ? "_files"
                           : command.words.empty() ? " "
                                                   : "(" + joined(command.words, " ", word) + ")";
  const std::string first =
      command.words.empty() ? rest : "(" + joined(command.words, " ", word) + ")";
  return text + "        " + quoted("1: :" + first) + " " + quoted("*: :" + rest) + " ;;\n";
}

// --- fish -----------------------------------------------------------------------------------

std::string fish_name(const std::string& name) {
  if (name.starts_with("--")) return "-l " + name.substr(2);
  return (name.size() == 2 ? "-s " : "-o ") + name.substr(1);
}

std::string fish_value(const CompletedOption& option) {
  if (option.value.empty()) return "";
  if (option.path) return " -r -F";
  return option.values.empty() ? " -x" : " -x -a " + fish_quoted(join(option.values, " "));
}

std::string fish_command(const CompletedCommand& command) {
  const std::string when =
      "complete -c holdfast -n " + fish_quoted("__fish_seen_subcommand_from " + command.name);
  std::string text;
  for (const CompletedWord& word : command.words)
    text += when + " -a " + word.word + " -d " + fish_quoted(word.about) + "\n";
  if (command.files) text += when + " -F\n";
  for (const CompletedOption& option : command.options)
    text += when + " " + fish_name(option.name) + fish_value(option) + " -d " +
            fish_quoted(option.help) + "\n";
  return text;
}

}  // namespace

std::string bash_completion(std::span<const CompletedCommand> commands) {
  const auto name = [](const CompletedCommand& command) { return command.name; };
  std::string text = head("bash") +
                     "_holdfast() {\n"
                     "  local cur=${COMP_WORDS[COMP_CWORD]} words=''\n"
                     "  case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in\n";
  for (const CompletedCommand& command : commands) text += bash_values(command);
  for (const CompletedCommand& command : commands) text += bash_command(command);
  return text +
         "  esac\n"
         "  if [[ $COMP_CWORD -eq 1 ]]; then words=" +
         quoted(joined(commands, " ", name)) +
         "; fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
         "}\n"
         "complete -o bashdefault -o default -F _holdfast holdfast\n";
}

std::string zsh_completion(std::span<const CompletedCommand> commands) {
  std::string text = "#compdef holdfast\n" + head("zsh") +
                     "_holdfast() {\n"
                     "  local -a commands\n"
                     "  commands=(\n";
  for (const CompletedCommand& command : commands)
    text += "    " + zsh_described(command.name, command.about) + "\n";
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  local command=$words[2]\n"
      "  shift words; (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const CompletedCommand& command : commands) text += zsh_command(command);
  return text +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _holdfast ]]; then _holdfast \"$@\"; else compdef _holdfast "
         "holdfast; fi\n";
}

std::string fish_completion(std::span<const CompletedCommand> commands) {
  std::string text = head("fish") + "complete -c holdfast -f\n";
  for (const CompletedCommand& command : commands)
    text += "complete -c holdfast -n __fish_use_subcommand -a " + command.name + " -d " +
            fish_quoted(command.about) + "\n";
  for (const CompletedCommand& command : commands) text += fish_command(command);
  return text;
}

}  // namespace holdfast::cli
