// What is set for an agent, for a shell and for people.
#include "cli/agent_settings.h"
#include "cli/chat_view.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

// Files end with a line of this; none of ours holds one.
constexpr std::string_view kEndOfFile = "HOLDFAST_END";

// Quoted but for the folder in front, or behind a `key="`, which the shell has to fill in.
std::string for_shell(const std::string& value) {
  const std::size_t at = value.find(kShellFolder);
  if (at == std::string::npos) return shell_quoted(value);
  const std::string before = value.substr(0, at);
  return (before.empty() ? "" : shell_quoted(before)) + "\"" + std::string(kShellFolder) + "\"" +
         shell_quoted(value.substr(at + kShellFolder.size()));
}

std::string file_commands(const AgentSettings& settings) {
  if (settings.files.empty()) return "";
  std::string text = "export HOLDFAST_AGENT_DIR=\"$(mktemp -d)\"\n";
  for (const AgentFile& file : settings.files) {
    text += "cat > \"" + std::string(kShellFolder) + "/" + file.name + "\" <<'" +
            std::string(kEndOfFile) + "'\n" + file.content + std::string(kEndOfFile) + "\n";
  }
  return text;
}

}  // namespace

std::string as_shell(const Agent& agent, const ServerFacts& server) {
  const AgentSettings settings = agent.settings(server, std::string(kShellFolder));
  std::string text = file_commands(settings);
  for (const auto& [name, value] : settings.variables)
    text += "export " + name + "=" + for_shell(value) + "\n";
  for (const std::string& name : settings.unset) text += "unset " + name + "\n";
  std::string line(agent.program);
  for (const std::string& argument : settings.arguments) line += " " + for_shell(argument);
  if (settings.arguments.empty()) return text + "# then: " + line + "\n";
  return text + std::string(agent.program) + "() { command " + line +
         " \"$@\"; }\n# then: " + std::string(agent.program) + "\n";
}

std::string as_text(const AgentSettings& settings, const ServerFacts& server,
                    const std::string& folder) {
  std::string text;
  for (const auto& [name, value] : settings.variables) {
    const bool secret = !server.key.empty() && value == server.key;
    text += "  set    " + name + "=" + (secret ? "(the key)" : harmless(value)) + "\n";
  }
  for (const std::string& name : settings.unset) text += "  unset  " + name + "\n";
  for (const AgentFile& file : settings.files)
    text += "  file   " + folder + "/" + file.name + " (removed at the end)\n";
  for (std::size_t i = 0; i < settings.arguments.size(); ++i) {
    const bool pair = i + 1 < settings.arguments.size() && settings.arguments[i].starts_with('-');
    text += "  option " + shell_quoted(harmless(settings.arguments[i]));
    if (pair) text += " " + shell_quoted(harmless(settings.arguments[++i]));
    text += "\n";
  }
  return text;
}

}  // namespace holdfast::cli
