// The command line of `holdfast cache`, and its --help.
#include <map>
#include <utility>

#include "cli/cache.h"
#include "cli/cache_dir.h"
#include "cli/command_line.h"
#include "cli/nearest_name.h"
#include "cli/option_kinds.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;

const std::map<std::string, CacheAction> kActions = {
    {"ls", CacheAction::kLs},        {"show", CacheAction::kShow}, {"verify", CacheAction::kVerify},
    {"gc", CacheAction::kGc},        {"rm", CacheAction::kRm},     {"export", CacheAction::kExport},
    {"import", CacheAction::kImport}};

OptionKind size(std::optional<ByteCount>& field) {
  return {"a size such as 500M or 10G", [&field](std::string_view text) {
            field = bytes_of(text);
            return field.has_value();
          }};
}

Option only_of(std::vector<std::string> commands, Option option) {
  option.only_of = std::move(commands);
  return option;
}

}  // namespace

// clang-format off
CommandSyntax cache_syntax(CacheCommandOptions& o, bool& show_help) {
  return {
      .command = "holdfast cache",
      .intro = "holdfast cache - looks after the folder in which states survive the server. "
               "Everything in it may be deleted at any time; that costs time, never an answer.",
      .commands = {
          {"ls", "what is there, by model and settings"},
          {"show KEY", "one blob; the front of a key is enough"},
          {"verify", "read everything, set aside what is damaged"},
          {"gc --to 10G", "drop what is worth least; empty the quarantine"},
          {"rm KEY...", "remove these; or --space SPACE, or --all"},
          {"export FILE", "all blobs, or those of --space, in one file"},
          {"import FILE", "take them in, verified"}},
      .groups = {{"Options", {
          {"--cache-dir", "DIR", text(o.folder),
           "The folder. (default: $HOLDFAST_CACHE_DIR, or holdfast/states in $XDG_CACHE_HOME or "
           "~/.cache)"},
          {"--json", "", flag(o.json), "The answer for programs."},
          only_of({"verify"}, {"--rebuild", "", flag(o.rebuild), "verify: rebuild the index."}),
          only_of({"gc", "import"}, {"--to", "SIZE", size(o.to),
           "gc, import: keep at most SIZE (500M, 10G) in the folder; what is worth least goes."}),
          only_of({"rm", "export"}, {"--space", "SPACE", text(o.space),
           "rm, export: the blobs of this space, see ls."}),
          only_of({"rm"}, {"--all", "", flag(o.all), "rm: everything."}),
          only_of({"rm"}, {"--yes", "", flag(o.yes), "rm --all: without asking."}),
          help_option(show_help),
      }}},
      .closing = "While a server runs on the folder, ls, show, export and verify work; gc, rm and "
                 "import want it stopped. The exit code is 1 when something failed or was damaged."};
}
// clang-format on

namespace {

Error unknown_action(const std::string& word) {
  std::vector<std::string> names;
  for (const auto& [name, action] : kActions) names.push_back(name);
  return invalid_argument(
      word, "there is no `cache " + word + "`" +
                did_you_mean(nearest_name(word, names), "; see holdfast cache --help"));
}

Error wanted(const std::string& what, const std::string& command, const std::string& wants) {
  return invalid_argument(what, "`cache " + command + "` wants " + wants);
}

Result<void> take_file(const CommandLine& line, CacheCommandOptions& options) {
  const std::vector<std::string>& words = line.words;
  if (words.empty())
    return wanted("FILE", line.command, "a FILE: holdfast cache " + line.command + " states.hfa");
  if (words.size() > 1)
    return invalid_argument("FILE", "one file at a time: " + words[0] + " or " + words[1]);
  options.file = words.front();
  return {};
}

// The words of a command are keys, or a file, or too much.
Result<void> take_words(const CommandLine& line, CacheCommandOptions& options) {
  switch (options.action) {
    case CacheAction::kShow:
      options.keys = line.words;
      if (options.keys.size() == 1) return {};
      return wanted("KEY", line.command, "one KEY, or the front of one");
    case CacheAction::kRm: {
      options.keys = line.words;
      const int ways = static_cast<int>(!options.keys.empty()) +
                       static_cast<int>(!options.space.empty()) + static_cast<int>(options.all);
      if (ways == 1) return {};
      return wanted("KEY", line.command, "KEYs, or --space SPACE, or --all");
    }
    case CacheAction::kExport:
    case CacheAction::kImport: return take_file(line, options);
    default: break;
  }
  if (line.words.empty()) return {};
  const std::string& word = line.words.front();
  return invalid_argument(word, "`cache " + line.command + "` does not know what \"" + word +
                                    "\" is; see holdfast cache --help");
}

Result<void> settle_folder(CacheCommandOptions& options, const Environment& env) {
  if (options.folder.empty()) options.folder = default_cache_dir(env);
  if (!options.folder.empty() && options.folder != "off") return {};
  return invalid_argument("--cache-dir",
                          options.folder.empty()
                              ? "neither HOME nor HOLDFAST_CACHE_DIR is set: say where the cache "
                                "is with --cache-dir DIR"
                              : "the cache is off (HOLDFAST_CACHE_DIR): say where one is with "
                                "--cache-dir DIR");
}

}  // namespace

Result<CacheCommandOptions> parse_cache_options(std::span<const std::string> args,
                                                const Environment& env) {
  CacheCommandOptions options;
  bool show_help = false;
  const auto line = parse_command_line(cache_syntax(options, show_help), args);
  if (!line) return line.error();
  const bool nothing = line->command.empty() && line->words.empty();
  if (show_help || nothing || line->words == std::vector<std::string>{"help"})
    return CacheCommandOptions{};
  if (line->command.empty()) return unknown_action(line->words.front());
  options.action = kActions.at(line->command);
  if (auto words = take_words(*line, options); !words) return words.error();
  if (auto folder = settle_folder(options, env); !folder) return folder.error();
  return options;
}

std::string cache_help(int width) {
  CacheCommandOptions options;
  bool show_help = false;
  return command_help(cache_syntax(options, show_help), width);
}

}  // namespace holdfast::cli
