#include "cli/launch.h"

#include <iostream>

#include "cli/chat_view.h"
#include "cli/launch_server.h"
#include "cli/text_parts.h"
#include "env/escaped_text.h"

namespace holdfast::cli {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitNoProgram = 127;  // these two as a shell has them
constexpr int kExitInterrupted = 130;

int complain(const std::string& sentence, int code) {
  std::cerr << "holdfast launch: " << env::escaped_lines(sentence) << "\n";
  return code;
}

std::string how_to_install(const Agent& agent) {
  return "there is no `" + std::string(agent.program) +
         "` in PATH. It can be installed with: npm install -g " + std::string(agent.package);
}

// Half as much again, for the first files that are read.
std::string too_small(const Agent& agent, TokenPos context) {
  if (context >= agent.first_prompt * 3 / 2) return "";
  return "  note   the first prompt of " + std::string(agent.name) + " has about " +
         with_commas(agent.first_prompt) +
         " tokens; start the server with a larger context (-c 64k)\n";
}

void announce(const LaunchOptions& options, const ServerFacts& facts, const AgentSettings& settings,
              const std::string& folder) {
  std::cerr << "holdfast launch: " << options.agent->name << " with " << harmless(facts.model)
            << " at " << facts.url << ", " << with_commas(facts.context) << " tokens of context\n"
            << as_text(settings, facts, folder) << too_small(*options.agent, facts.context);
}

Result<int> run_agent(const LaunchOptions& options, const std::string& program,
                      const ServerFacts& facts, const TempFolder& folder) {
  const AgentSettings settings = options.agent->settings(facts, folder.path());
  for (const AgentFile& file : settings.files) {
    if (auto written = folder.write(file); !written) return written.error();
  }
  announce(options, facts, settings, folder.path());
  ChildPlan plan{.program = program,
                 .arguments = settings.arguments,
                 .variables = settings.variables,
                 .unset = settings.unset};
  plan.arguments.insert(plan.arguments.end(), options.agent_arguments.begin(),
                        options.agent_arguments.end());
  return run_in_front(plan);
}

int launch(const LaunchOptions& options, const Environment& env) {
  const auto path = env.find("PATH");
  const std::string program =
      find_program(std::string(options.agent->program), path == env.end() ? "" : path->second);
  if (program.empty() && !options.print)
    return complain(how_to_install(*options.agent), kExitNoProgram);
  const NotedSignals signals;  // what is made here is removed here
  const auto folder = TempFolder::make(env);
  if (!folder) return complain(folder.error().message, kExitFailed);
  auto server = LaunchServer::open(options, folder->path());
  if (!server) {
    const bool cancelled = server.error().code == ErrorCode::kCancelled;
    return complain(server.error().message, cancelled ? kExitInterrupted : kExitFailed);
  }
  if (options.print) {
    std::cout << as_shell(*options.agent, server->facts());
    return 0;
  }
  if (NotedSignals::take()) {
    (void)server->stop();
    return complain("interrupted", kExitInterrupted);
  }
  const auto code = run_agent(options, program, server->facts(), *folder);
  if (const std::string said = server->stop(); !said.empty()) complain(said, kExitFailed);
  return code ? *code : complain(code.error().message, kExitFailed);
}

}  // namespace

int launch_main(std::span<const std::string> args, const Environment& env) {
  const auto options = parse_launch_options(args, env);
  if (!options) return complain(options.error().message, kExitUsage);
  if (options->show_help) {
    std::cout << launch_help();
    return 0;
  }
  return launch(*options, env);
}

}  // namespace holdfast::cli
