// What each coding agent has to be told so that it works with a server, as data: variables of
// its environment, arguments, and files that exist only while it runs.
//
// Nothing here touches the configuration that a user has written: an agent's own files are
// neither read nor changed, and what is set wins over them only for the agent that is started.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/tokens.h"

namespace holdfast::cli {

// What a server says of itself.
struct ServerFacts {
  std::string url;  // "http://127.0.0.1:8080"
  std::string model;
  TokenPos context = 0;  // of one slot
  std::string key = {};  // empty: it asks for none
};

struct AgentFile {
  std::string name;
  std::string content;
};

struct AgentSettings {
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::vector<std::string> unset = {};      // variables that would lead elsewhere
  std::vector<std::string> arguments = {};  // before those of the user
  std::vector<AgentFile> files = {};        // in the folder that the settings were made for
};

struct Agent {
  std::string_view name;     // `holdfast launch NAME`
  std::string_view program;  // looked for in PATH
  std::string_view package;  // at npm
  TokenPos first_prompt;     // about as many tokens as it begins with
  // `folder`: where `files` will lie.
  AgentSettings (*settings)(const ServerFacts& server, const std::string& folder);
};

[[nodiscard]] std::span<const Agent> known_agents();
// nullptr: there is none of that name.
[[nodiscard]] const Agent* find_agent(std::string_view name);

// The longest answer that an agent should plan for: a quarter of the context, so that most of
// it is left for the conversation, and no more than agents ask for by themselves.
[[nodiscard]] TokenPos planned_answer(TokenPos context);

// Commands for a shell that set the same; to be used with eval. Files are written into a new
// folder, which $HOLDFAST_AGENT_DIR names.
inline constexpr std::string_view kShellFolder = "$HOLDFAST_AGENT_DIR";
[[nodiscard]] std::string as_shell(const Agent& agent, const ServerFacts& server);

// For people: what is set, one line each. The key is not shown.
[[nodiscard]] std::string as_text(const AgentSettings& settings, const ServerFacts& server,
                                  const std::string& folder);

}  // namespace holdfast::cli
