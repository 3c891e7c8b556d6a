// The command line of `holdfast launch`, and its --help.
#include <algorithm>
#include <optional>

#include "api/http_server.h"
#include "cli/launch.h"
#include "cli/option_kinds.h"
#include "cli/text_parts.h"

namespace holdfast::cli {

using namespace option_kinds;

// clang-format off
CommandSyntax launch_syntax(LaunchOptions& o) {
  return {
      .command = "holdfast launch",
      .intro = "holdfast launch - start a coding agent on this server. It is told the server's address, "
               "key, model and context size by way of its environment, its command line and files that "
               "are removed at the end; your own configuration is neither changed nor needed. Where no "
               "server answers, one is started, and stopped when the agent ends.",
      .commands = {{"claude", "Claude Code (npm install -g @anthropic-ai/claude-code)"},
                   {"codex", "Codex (npm install -g @openai/codex)"},
                   {"opencode", "OpenCode (npm install -g opencode-ai)"},
                   {"pi", "pi (npm install -g @earendil-works/pi-coding-agent)"},
                   {"qwen", "Qwen Code (npm install -g @qwen-code/qwen-code)"},
                   {"cline", "Cline (npm install -g cline)"}},
      .body =
          "Examples:\n"
          "  holdfast launch claude                   on the server at 127.0.0.1:8080\n"
          "  holdfast launch codex -m my.gguf -c 64k  on a server of its own\n"
          "  holdfast launch pi -- -p \"Say hi\"        what follows -- is for the agent\n"
          "  eval \"$(holdfast launch qwen --print)\"   set it all in this shell\n",
      .groups = {{"Options", {
          {"--print, --dry-run", "", flag(o.print), "Print what would be set, as commands for a shell; start nothing."},
          {"--url", "URL", text(o.url), "A server elsewhere; none is started."},
          help_option(o.show_help),
      }}},
      .closing = "All other options are those of `holdfast serve`: --host and --port say where the server "
                 "is, --api-key what it asks for, and the rest (-m, -c, ...) is for a server that has to be "
                 "started. HOLDFAST_URL and HOLDFAST_API_KEY in the environment stand in for --url and "
                 "--api-key.",
      .options_of = "serve"};
}
// clang-format on

namespace {

// Whether `args[at]` is an option of launch itself; if so it is set, and `at` moves behind it.
Result<bool> take_own(std::span<const std::string> args, std::size_t& at, LaunchOptions& options) {
  const std::string& argument = args[at];
  if (argument == "--print" || argument == "--dry-run") {
    options.print = true;
  } else if (argument == "--help" || argument == "-h") {
    options.show_help = true;
  } else if (argument.starts_with("--url=")) {
    options.url = argument.substr(argument.find('=') + 1);
  } else if (argument == "--url") {
    if (at + 1 == args.size())
      return invalid_argument("--url", "option --url needs a value: --url URL.");
    options.url = args[++at];
  } else {
    return false;
  }
  ++at;
  return true;
}

std::string agent_names() {
  std::vector<std::string> names;
  for (const Agent& agent : known_agents()) names.emplace_back(agent.name);
  return join(names, ", ");
}

Result<const Agent*> agent_named(const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with('-'))
    return invalid_argument(
        "AGENT", "which agent? One of " + agent_names() + " comes first: holdfast launch claude.");
  if (const Agent* agent = find_agent(words[0])) return agent;
  std::vector<std::string> names;
  for (const Agent& agent : known_agents()) names.emplace_back(agent.name);
  const std::string near = nearest_name(words[0], names);
  return invalid_argument("AGENT", "'" + words[0] + "' is no agent that is known here (" +
                                       agent_names() + ")" +
                                       (near.empty() ? "." : "; did you mean " + near + "?"));
}

// What is before `--`, without launch's own options.
Result<std::vector<std::string>> take_front(std::span<const std::string> args,
                                            LaunchOptions& options) {
  std::vector<std::string> rest;
  for (std::size_t at = 0; at < args.size();) {
    const auto own = take_own(args, at, options);
    if (!own) return own.error();
    if (!*own) rest.push_back(args[at++]);
  }
  return rest;
}

// Nothing: it is not set, or empty.
std::optional<std::string> variable(const Environment& env, const std::string& name) {
  const auto found = env.find(name);
  if (found == env.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

Result<void> read_serve_options(const Environment& env, LaunchOptions& options) {
  const auto parsed = parse_serve_options(options.serve_options, env);
  if (!parsed) {
    return invalid_argument(parsed.error().param,
                            parsed.error().message +
                                " The agent's own options follow `--`: holdfast launch " +
                                std::string(options.agent->name) + " -- ...");
  }
  options.serve = parsed->options;
  if (!options.serve.server.ssl_cert_file.empty())
    return invalid_argument("--ssl-cert-file",
                            "holdfast launch starts no server with TLS; start it with `holdfast "
                            "serve` and say where it is with --url.");
  return {};
}

}  // namespace

std::string launch_help(int width) {
  LaunchOptions options;
  return command_help(launch_syntax(options), width);
}

Result<LaunchOptions> parse_launch_options(std::span<const std::string> args,
                                           const Environment& env) {
  LaunchOptions options;
  const auto mark = std::ranges::find(args, "--");
  const auto front = static_cast<std::size_t>(mark - args.begin());
  if (mark != args.end()) options.agent_arguments.assign(mark + 1, args.end());
  auto words = take_front(args.first(front), options);
  if (!words) return words.error();
  if (options.show_help) return options;
  const auto agent = agent_named(*words);
  if (!agent) return agent.error();
  options.agent = *agent;
  options.serve_options.assign(words->begin() + 1, words->end());
  if (const auto read = read_serve_options(env, options); !read) return read.error();
  // Options for a server say which one is meant.
  if (options.url.empty() && options.serve_options.empty())
    options.url = variable(env, "HOLDFAST_URL").value_or("");
  return options;
}

std::string url_of(const ServerOptions& server) {
  const auto found = std::ranges::find_if_not(server.hosts, api::is_unix_socket);
  std::string host = found == server.hosts.end() ? "127.0.0.1" : *found;
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return "http://" + host + ":" + std::to_string(server.port) + server.api_prefix;
}

}  // namespace holdfast::cli
