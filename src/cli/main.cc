// holdfast: serve, chat, launch, explain, doctor, cache, replay, verify-exact, completion, manual,
// version.
#include <cstdio>
#include <string>
#include <vector>

#include "cli/build_name.h"
#include "cli/cache.h"
#include "cli/cache_dir.h"
#include "cli/chat.h"
#include "cli/completion.h"
#include "cli/doctor.h"
#include "cli/explain.h"
#include "cli/launch.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/replay.h"
#include "cli/serve.h"
#include "cli/verify_exact.h"
#include "engine/llama/llama_backends.h"
#include "engine/llama/llama_config.h"
#include "env/crash_report.h"
#include "env/escaped_text.h"

namespace holdfast::cli {

namespace {

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int print_version() {
  const std::string library = llama::llama_library_info();  // chooses the variant
  return print(build_name() + "\n" + library + "\nCPU variant: " + llama::cpu_variant_in_use() +
               "\n");
}

int complain(const std::string& sentence) {
  std::fprintf(stderr, "holdfast: %s\n", env::escaped_line(sentence).c_str());
  return kExitUsage;
}

// A page or a script for programs to read.
int print_or_complain(const Result<std::string>& text) {
  return text ? print(*text) : complain(text.error().message);
}

int serve(const std::vector<std::string>& args, const Environment& env) {
  auto parsed = parse_serve_options(args, env);
  if (!parsed) return complain(parsed.error().message + " Try 'holdfast serve --help'.");
  if (parsed->options.show_help) return print(serve_help());
  if (parsed->options.show_version) return print_version();
  std::string& cache_dir = parsed->options.reuse.dir;
  if (cache_dir.empty()) cache_dir = default_cache_dir(env);
  return run_server(*parsed);
}

int run(const std::vector<std::string>& args, const Environment& env) {
  const std::string command = args.empty() ? "help" : args[0];
  if (command == "help" || command == "--help" || command == "-h") return print(overview_help());
  if (command == "version" || command == "--version") return print_version();
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  if (command == "serve") return serve(rest, env);
  if (command == "chat") return chat_main(rest, env);
  if (command == "launch") return launch_main(rest, env);
  if (command == "explain") return explain_main(rest, env);
  if (command == "doctor") return doctor_main(rest, env);
  if (command == "cache") return cache_main(rest, env);
  if (command == "replay") return replay_main(rest);
  if (command == "verify-exact") return verify_exact_main(rest, env);
  if (command == "completion") return print_or_complain(completion(rest));
  if (command == "manual") return print_or_complain(manual(rest));
  return complain(no_such_command(args));
}

}  // namespace

}  // namespace holdfast::cli

int main(int argc, char** argv, char** envp) {
  holdfast::env::report_crashes(holdfast::cli::build_name() + ", " +
                                holdfast::llama::llama_library_version());
  return holdfast::cli::run({argv + 1, argv + argc}, holdfast::cli::environment_of(envp));
}
