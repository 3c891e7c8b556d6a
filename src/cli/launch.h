// `holdfast launch AGENT`: a coding agent on this server, with nothing to configure.
//
//   holdfast launch claude                      on the server that runs here, or on a new one
//   holdfast launch codex -m my.gguf -c 64k     options of `holdfast serve`, for a new one
//   holdfast launch pi -- -p "Say hi"           what follows -- is for the agent
//
// It asks the server for its model and its context, tells the agent about them
// (agent_settings.h), and says what it set. A server that it has started ends with the agent.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/agent_settings.h"
#include "cli/command_syntax.h"
#include "cli/options.h"

namespace holdfast::cli {

struct LaunchOptions {
  const Agent* agent = nullptr;  // null only where show_help is set
  std::vector<std::string> agent_arguments = {};
  std::string url = {};                         // the server's; empty: as `serve` says
  std::vector<std::string> serve_options = {};  // for `holdfast serve`, as they were written
  ServeOptions serve = {};
  bool print = false;
  bool show_help = false;
};

// `args` are those after `holdfast launch`.
[[nodiscard]] Result<LaunchOptions> parse_launch_options(std::span<const std::string> args,
                                                         const Environment& env);
[[nodiscard]] CommandSyntax launch_syntax(LaunchOptions& o);
[[nodiscard]] std::string launch_help(int width = 80);

// Where clients on this machine find the server that would be started.
[[nodiscard]] std::string url_of(const ServerOptions& server);

// Returns the agent's exit code, or an own one where it was not started.
[[nodiscard]] int launch_main(std::span<const std::string> args, const Environment& env);

}  // namespace holdfast::cli
