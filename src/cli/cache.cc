#include "cli/cache.h"

#include <unistd.h>

#include <chrono>
#include <iostream>

#include "cli/cache_actions.h"
#include "cli/cache_text.h"
#include "env/escaped_text.h"

namespace holdfast::cli {
namespace {

constexpr int kExitFailed = 1;

bool ask_on_terminal(const std::string& question) {
  std::cerr << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

Result<CacheAnswer> run_cache(const CacheCommandOptions& options, const CacheCommandWorld& world) {
  switch (options.action) {
    case CacheAction::kHelp: return CacheAnswer{cache_help()};
    case CacheAction::kLs: return list_cache(options, world);
    case CacheAction::kShow: return show_blob(options, world);
    case CacheAction::kVerify: return verify_cache(options, world);
    case CacheAction::kGc: return collect_garbage(options, world);
    case CacheAction::kRm: return remove_blobs(options, world);
    case CacheAction::kExport: return export_cache(options, world);
    case CacheAction::kImport: return import_file(options, world);
  }
  return CacheAnswer{cache_help()};
}

int cache_main(std::span<const std::string> args, const Environment& env) {
  const auto options = parse_cache_options(args, env);
  if (!options) {
    std::cerr << "holdfast cache: " << env::escaped_line(options.error().message) << "\n";
    return kExitUsage;
  }
  CacheCommandWorld world;
  world.now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1) world.ask = ask_on_terminal;
  const auto answer = run_cache(*options, world);
  if (!answer) {
    std::cerr << env::escaped_line(answer.error().message) << "\n";
    return kExitFailed;
  }
  std::cout << answer->text << std::flush;
  if (!std::cout) return kExitFailed;
  return answer->sound ? 0 : kExitFailed;
}

}  // namespace holdfast::cli
