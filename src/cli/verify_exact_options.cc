// The command line of `holdfast verify-exact`, and its --help.
#include <algorithm>

#include "cli/chat.h"
#include "cli/command_line.h"
#include "cli/option_kinds.h"
#include "cli/verify_exact.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;

constexpr int kRequestsDefault = 200;

}  // namespace

// clang-format off
CommandSyntax verify_exact_syntax(VerifyExactOptions& o) {
  return {
      .command = "holdfast verify-exact",
      .intro = "holdfast verify-exact - compare a server that reuses what was computed with one that computes "
               "everything again. Each request goes to a running server as part of a talk and "
               "to a cold one by itself. Compared are a hash of the logits after the prompt (all bits), "
               "the logprobs of the likeliest tokens, and the texts, for each kind of reuse.",
      .body =
          "Examples:\n"
          "  holdfast verify-exact -m my.gguf --random 500      two servers of its own\n"
          "  holdfast verify-exact -m my.gguf --exact prompt    the same, with options of `serve`\n"
          "  holdfast verify-exact --server http://127.0.0.1:8080 --cold http://127.0.0.1:8081\n"
          "  holdfast verify-exact --needles                    facts hidden in long texts\n",
      .groups = {{"What is asked", {
          {"--random", "N", with_default(whole(o.random, 1, 10'000'000), "200"),
           "Number of requests, of made-up talks: turns, branches, edits, the same again, fan-out, tools, "
           "thoughts sent back and left out, clients that leave."},
          {"--conversations", "FILE", text(o.conversations),
           "The requests of a file instead: in each line the body of a request to "
           "/v1/chat/completions, as a proxy records it. They are sent in their order, with "
           "temperature 0."},
          {"--needles", "", flag(o.needles),
           "Instead, 38 texts of growing length with a fact at a known place and a question about it: cold, "
           "warm, and after a restart."},
          {"--needle-tokens", "N", tokens(o.needle_tokens, 256), "About how long the longest of them is."},
          {"--seed", "N", whole(o.seed, 0, std::numeric_limits<std::int64_t>::max()),
           "Seed of what is made up. The same seed asks the same, as far as the answers are the same."},
          {"--clients", "N", whole(o.clients, 1, 64), "Number of clients at once, each with talks of its own."},
          {"--pause", "SECONDS", real(o.pause_s, 0, 3600),
           "How long each client waits after an answer, as people and tools do."},
      }}, {"Servers", {
          {"--server", "URL", text(o.server), "The running server, which reuses. Without it both are started, with all "
           "options that are not named here: those of `holdfast serve`."},
          {"--cold", "URL", text(o.cold),
           "Another server with the same model and options. Every request to it says `cache_prompt: false`, "
           "and one that reuses all the same is found out by its receipts. One started with "
           "--cache-ram 0 --cache-dir off --prewarm off needs less memory."},
          {"--key", "KEY", text(o.key), "The key of both servers."},
          {"--cold-clients", "N", with_default(whole(o.cold_clients, 1, 64), "1"),
           "Number of requests at a time to the cold server. With one each is computed alone."},
          {"--restarts", "N", with_default(whole(o.restarts, 0, 1000), "1"),
           "How often the running server is restarted on the way."},
          {"--restart-command", "CMD", text(o.restart_command),
           "A shell command that restarts the server at --server and returns; without it none is restarted."},
          {"--control", "", flag(o.control),
           "The running server is to reuse nothing either: how often do two cold servers differ? All clients "
           "ask both at once."},
      }}, {"Results", {
          {"--json", "FILE", text(o.json), "Write all that was found there, - for standard output."},
          help_option(o.show_help),
      }}},
      .closing = "Exit code: 0 if no prompt differs by a bit, 1 if some do, 2 if that could not be found out. "
                 "HOLDFAST_API_KEY in the environment stands in for --key."};
}
// clang-format on

namespace {

// Options of ours and their values; what is left is for the servers.
std::vector<std::string> take_own(std::span<const std::string> args, VerifyExactOptions& options) {
  const CommandSyntax syntax = verify_exact_syntax(options);
  const OptionNames names(syntax.groups);
  std::vector<std::string> own;
  for (std::size_t at = 0; at < args.size(); ++at) {
    const auto named = args[at].starts_with('-') ? names.find(args[at]) : std::nullopt;
    if (!named) {
      options.serve_options.push_back(args[at]);
      continue;
    }
    own.push_back(args[at]);
    const bool separate = !is_flag(*named->option) && args[at].find('=') == std::string::npos;
    if (separate && at + 1 < args.size()) own.push_back(args[++at]);
  }
  return own;
}

Result<void> check_servers(const VerifyExactOptions& options) {
  if (options.server.empty() != options.cold.empty())
    return invalid_argument(options.server.empty() ? "--server" : "--cold",
                            "--server and --cold go together: two servers with the same model and "
                            "options; without both of them they are started.");
  if (!options.server.empty() && !options.serve_options.empty())
    return invalid_argument(options.serve_options.front(),
                            "'" + options.serve_options.front() +
                                "' would be for servers that are started; with --server none is.");
  if (options.server.empty() && !options.restart_command.empty())
    return invalid_argument("--restart-command", "--restart-command is for a server at --server.");
  if (!options.server.empty() && options.restart_command.empty() && options.restarts > 0)
    return invalid_argument("--restarts",
                            "--restarts needs --restart-command: how the server is restarted.");
  return {};
}

Result<void> check_work(VerifyExactOptions& options) {
  const int kinds = (options.random > 0 ? 1 : 0) + (options.needles ? 1 : 0) +
                    (options.conversations.empty() ? 0 : 1);
  if (kinds > 1)
    return invalid_argument("--random", "one of --random, --conversations and --needles at a time");
  if (kinds == 0) options.random = kRequestsDefault;
  if (options.cold_clients == 0) options.cold_clients = options.control ? options.clients : 1;
  const bool can_restart = options.server.empty() || !options.restart_command.empty();
  if (options.restarts < 0) options.restarts = can_restart ? 1 : 0;
  return {};
}

// One of the keys that the servers would ask for.
Result<void> read_serve_options(const Environment& env, VerifyExactOptions& options) {
  const auto parsed = parse_serve_options(options.serve_options, env);
  if (!parsed) return parsed.error();
  const ServerOptions& server = parsed->options.server;
  if (!server.ssl_cert_file.empty())
    return invalid_argument("--ssl-cert-file",
                            "the servers that are started speak no TLS; start them with `holdfast "
                            "serve` and say where they are with --server and --cold.");
  if (options.key.empty() && !server.api_keys.empty()) options.key = server.api_keys.front();
  if (options.key.empty() && !server.file_keys.empty()) options.key = server.file_keys.front().key;
  return {};
}

}  // namespace

std::string verify_exact_help(int width) {
  VerifyExactOptions options;
  return command_help(verify_exact_syntax(options), width);
}

Result<VerifyExactOptions> parse_verify_exact_options(std::span<const std::string> args,
                                                      const Environment& env) {
  VerifyExactOptions options;
  std::string unused;
  take_client_environment(env, unused, options.key);
  const std::vector<std::string> own = take_own(args, options);
  const auto line = parse_command_line(verify_exact_syntax(options), own);
  if (!line) return line.error();
  if (options.show_help) return options;
  if (auto good = check_servers(options); !good) return good.error();
  if (auto good = check_work(options); !good) return good.error();
  if (options.server.empty()) {
    if (auto read = read_serve_options(env, options); !read) return read.error();
  }
  return options;
}

}  // namespace holdfast::cli
