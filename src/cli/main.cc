// holdfast: serve, chat, explain, doctor, cache, replay, version.
#include <cstdio>
#include <string>
#include <vector>

#include "cli/cache.h"
#include "cli/cache_dir.h"
#include "cli/chat.h"
#include "cli/doctor.h"
#include "cli/explain.h"
#include "cli/options.h"
#include "cli/replay.h"
#include "cli/serve.h"
#include "cli/version.h"
#include "engine/llama/llama_backends.h"
#include "engine/llama/llama_config.h"

namespace holdfast::cli {

namespace {

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int print_version() {
  return print(std::string("holdfast ") + HOLDFAST_VERSION + "\n" + llama::llama_library_info() +
               "\nCPU variant: " + llama::cpu_variant_in_use() + "\n");
}

int complain(const std::string& sentence) {
  std::fprintf(stderr, "holdfast: %s\n", sentence.c_str());
  return kExitUsage;
}

int serve(const std::vector<std::string>& args, char** envp) {
  auto parsed = parse_serve_options(args, environment_of(envp));
  if (!parsed) return complain(parsed.error().message + " Try 'holdfast serve --help'.");
  if (parsed->options.show_help) return print(serve_help());
  if (parsed->options.show_version) return print_version();
  std::string& cache_dir = parsed->options.cache_dir;
  if (cache_dir.empty()) cache_dir = default_cache_dir(environment_of(envp));
  return run_server(*parsed);
}

int run(std::vector<std::string> args, char** envp) {
  if (args.empty() || args[0] == "help" || args[0] == "--help" || args[0] == "-h") {
    return print(overview_help());
  }
  const std::string command = args[0];
  args.erase(args.begin());
  if (command == "serve") return serve(args, envp);
  if (command == "chat") return chat_main(args, environment_of(envp));
  if (command == "explain") return explain_main(args, environment_of(envp));
  if (command == "doctor") return doctor_main(args, environment_of(envp));
  if (command == "cache") return cache_main(args, environment_of(envp));
  if (command == "replay") return replay_main(args);
  if (command == "version" || command == "--version") return print_version();
  const std::vector<std::string> known = {"serve", "chat",   "explain", "doctor",
                                          "cache", "replay", "version", "help"};
  const std::string near = nearest_name(command, known);
  return complain("there is no command '" + command + "'" +
                  (near.empty() ? "." : "; did you mean '" + near + "'?") +
                  " Try 'holdfast --help'.");
}

}  // namespace

}  // namespace holdfast::cli

int main(int argc, char** argv, char** envp) {
  return holdfast::cli::run({argv + 1, argv + argc}, envp);
}
