// The command line of `holdfast cache`, and its --help.
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "cli/cache.h"
#include "cli/cache_dir.h"
#include "cli/option_values.h"
#include "cli/small_options.h"
#include "cli/text_wrap.h"

namespace holdfast::cli {
namespace {

struct ActionName {
  CacheAction action;
  std::string name;
};

const std::array<ActionName, 7> kActions = {{{CacheAction::kLs, "ls"},
                                             {CacheAction::kShow, "show"},
                                             {CacheAction::kVerify, "verify"},
                                             {CacheAction::kGc, "gc"},
                                             {CacheAction::kRm, "rm"},
                                             {CacheAction::kExport, "export"},
                                             {CacheAction::kImport, "import"}}};

const std::string& name_of(CacheAction action) {
  return std::ranges::find(kActions, action, &ActionName::action)->name;
}

struct CacheOption {
  std::string name;
  std::string value;            // empty: a flag
  std::vector<CacheAction> of;  // empty: of all
  std::string help;
  std::function<bool(CacheCommandOptions&, const std::string&)> set;
};

auto set_text(std::string CacheCommandOptions::*field) {
  return [field](CacheCommandOptions& o, const std::string& text) {
    o.*field = text;
    return !text.empty();
  };
}

auto set_flag(bool CacheCommandOptions::*field) {
  return [field](CacheCommandOptions& o, const std::string&) { return o.*field = true; };
}

bool set_to(CacheCommandOptions& options, const std::string& text) {
  options.to = bytes_of(text);
  return options.to.has_value();
}

bool set_help(CacheCommandOptions& options, const std::string&) {
  options.action = CacheAction::kHelp;
  return true;
}

const std::vector<CacheOption>& cache_options() {
  using enum CacheAction;
  static const std::vector<CacheOption> options = {
      {"--cache-dir",
       "DIR",
       {},
       "The folder. (default: $HOLDFAST_CACHE_DIR, or holdfast/states in "
       "$XDG_CACHE_HOME or ~/.cache)",
       set_text(&CacheCommandOptions::folder)},
      {"--json", "", {}, "The answer for programs.", set_flag(&CacheCommandOptions::json)},
      {"--rebuild",
       "",
       {kVerify},
       "verify: rebuild the index.",
       set_flag(&CacheCommandOptions::rebuild)},
      {"--to",
       "SIZE",
       {kGc, kImport},
       "gc, import: keep at most SIZE (500M, 10G) in the folder; what is worth least goes.",
       set_to},
      {"--space",
       "SPACE",
       {kRm, kExport},
       "rm, export: the blobs of this space, see ls.",
       set_text(&CacheCommandOptions::space)},
      {"--all", "", {kRm}, "rm: everything.", set_flag(&CacheCommandOptions::all)},
      {"--yes", "", {kRm}, "rm --all: without asking.", set_flag(&CacheCommandOptions::yes)},
      {"--help", "", {}, "This text.", set_help},
  };
  return options;
}

const CacheOption* find_cache_option(std::string_view name) {
  if (name == "-h") name = "--help";
  for (const CacheOption& option : cache_options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

Error unknown_action(const std::string& word) {
  std::vector<std::string> names;
  for (const ActionName& known : kActions) names.push_back(known.name);
  return invalid_argument(
      word, "there is no `cache " + word + "`" +
                did_you_mean(nearest_name(word, names), "; see holdfast cache --help"));
}

// An option that belongs to other actions.
Result<void> verify_option(const std::string& argument, CacheAction action) {
  const CacheOption* const option = find_cache_option(argument.substr(0, argument.find('=')));
  if (option == nullptr || option->of.empty() || std::ranges::count(option->of, action) > 0)
    return {};
  return invalid_argument(option->name, "option " + option->name + " belongs to `holdfast cache " +
                                            name_of(option->of.front()) + "`");
}

Result<void> take_word(CacheCommandOptions& options, const std::string& word) {
  switch (options.action) {
    case CacheAction::kShow:
    case CacheAction::kRm: options.keys.push_back(word); return {};
    case CacheAction::kExport:
    case CacheAction::kImport:
      if (!options.file.empty())
        return invalid_argument("FILE", "one file at a time: " + options.file + " or " + word);
      options.file = word;
      return {};
    default: break;
  }
  return invalid_argument(word, "`cache " + name_of(options.action) + "` does not know what \"" +
                                    word + "\" is; see holdfast cache --help");
}

Result<void> verify_words(const CacheCommandOptions& options) {
  const std::string name = name_of(options.action);
  switch (options.action) {
    case CacheAction::kShow:
      if (options.keys.size() == 1) return {};
      return invalid_argument("KEY", "`cache show` wants one KEY, or the front of one");
    case CacheAction::kRm: {
      const int ways = static_cast<int>(!options.keys.empty()) +
                       static_cast<int>(!options.space.empty()) + static_cast<int>(options.all);
      if (ways == 1) return {};
      return invalid_argument("KEY", "`cache rm` wants KEYs, or --space SPACE, or --all");
    }
    case CacheAction::kExport:
    case CacheAction::kImport:
      if (!options.file.empty()) return {};
      return invalid_argument(
          "FILE", "`cache " + name + "` wants a FILE: holdfast cache " + name + " states.hfa");
    default: return {};
  }
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
  for (const std::string& argument : args) {
    if (argument == "--help" || argument == "-h") return options;
  }
  if (args.empty() || args[0] == "help") return options;
  const auto named = std::ranges::find(kActions, args[0], &ActionName::name);
  if (named == kActions.end()) return unknown_action(args[0]);
  options.action = named->action;
  for (std::size_t at = 1; at < args.size();) {
    if (!args[at].starts_with('-')) {
      if (auto taken = take_word(options, args[at++]); !taken) return taken.error();
      continue;
    }
    if (auto belongs = verify_option(args[at], options.action); !belongs) return belongs.error();
    if (auto taken = take_small_option(args, at, options, cache_options(), find_cache_option,
                                       "holdfast cache");
        !taken)
      return taken.error();
  }
  if (auto words = verify_words(options); !words) return words.error();
  if (auto folder = settle_folder(options, env); !folder) return folder.error();
  return options;
}

std::string cache_help(int width) {
  std::string text = wrap_text(
      "holdfast cache - looks after the folder in which states survive the server. Everything in "
      "it may be deleted at any time; that costs time, never an answer.",
      width, 0);
  text +=
      "\nCommands:\n"
      "  holdfast cache ls               what is there, by model and settings\n"
      "  holdfast cache show KEY         one blob; the front of a key is enough\n"
      "  holdfast cache verify           read everything, set aside what is damaged\n"
      "  holdfast cache gc --to 10G      drop what is worth least; empty the quarantine\n"
      "  holdfast cache rm KEY...        remove these; or --space SPACE, or --all\n"
      "  holdfast cache export FILE      all blobs, or those of --space, in one file\n"
      "  holdfast cache import FILE      take them in, verified\n"
      "\nOptions:\n";
  for (const CacheOption& option : cache_options()) {
    const std::string left = "  " + option.name + (option.value.empty() ? "" : " " + option.value);
    text += left + wrap_text(option.help, width, 22).substr(left.size());
  }
  return text + "\n" +
         wrap_text(
             "While a server runs on the folder, ls, show, export and verify work; gc, rm and "
             "import want it stopped. The exit code is 1 when something failed or was damaged.",
             width, 0);
}

}  // namespace holdfast::cli
