// `holdfast cache`: looks after the folder in which states survive the server.
//
//   ls, show          what is there
//   verify            whether it is intact
//   gc, rm            less of it
//   export, import    all of it, elsewhere
//
// A folder has one writer (tier/disk_store.h). While a server runs on it, we are a reader: what
// only looks works, and what would change something is refused with a sentence. ls, show and
// export never ask to be the writer, so that a server that starts meanwhile is not kept from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command_syntax.h"
#include "cli/options.h"
#include "state/parts.h"

namespace holdfast::cli {

enum class CacheAction { kHelp, kLs, kShow, kVerify, kGc, kRm, kExport, kImport };

struct CacheCommandOptions {
  CacheAction action = CacheAction::kHelp;
  std::string folder = {};
  std::vector<std::string> keys = {};  // fronts of keys: show has one
  std::string file = {};               // of export and import
  std::string space = {};              // front of a space's name
  std::optional<ByteCount> to = {};
  bool rebuild = false;
  bool all = false;
  bool yes = false;
  bool json = false;
};

// An Error is one sentence. The folder is as default_cache_dir() says where the line does not.
[[nodiscard]] Result<CacheCommandOptions> parse_cache_options(std::span<const std::string> args,
                                                              const Environment& env);
[[nodiscard]] CommandSyntax cache_syntax(CacheCommandOptions& o, bool& show_help);
[[nodiscard]] std::string cache_help(int width = 80);

// What a run of it needs of the world.
struct CacheCommandWorld {
  std::int64_t now_ms = 0;  // Unix
  // Asks a question, and says whether the answer was yes; none where nobody can be asked.
  std::function<bool(const std::string&)> ask = {};
};

struct CacheAnswer {
  std::string text;   // for standard output
  bool sound = true;  // false: exit with 1, something was damaged or left out
};
// An Error is one sentence that says what to do; nothing was changed, unless it says so.
[[nodiscard]] Result<CacheAnswer> run_cache(const CacheCommandOptions& options,
                                            const CacheCommandWorld& world);

// `args` are those after `holdfast cache`. Returns the exit code.
[[nodiscard]] int cache_main(std::span<const std::string> args, const Environment& env);

}  // namespace holdfast::cli
