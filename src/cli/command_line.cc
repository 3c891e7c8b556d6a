#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/nearest_name.h"

namespace holdfast::cli {
namespace {

// CLI11 knows one letter after one dash, and would read -ngl as -n with the value "gl". So
// all names are long ones to it, and those with one dash begin with a mark: --@ngl.
std::string library_name(const std::string& name) {
  return name.starts_with("--") ? name : "--@" + name.substr(1);
}

// More words than a system passes on. (An unlimited number would make CLI11 take "[a,b]" apart.)
constexpr int kWordsMax = 1 << 24;

class Reader {
 public:
  explicit Reader(const CommandSyntax& syntax) : syntax_(syntax), names_(syntax.groups) {
    app_.set_help_flag();  // none of its own
    app_.allow_extras()->fallthrough()->require_subcommand(0, 1);
    define(app_, "");
    for (const SubCommand& command : syntax.commands) {
      const std::string name = command.usage.substr(0, command.usage.find(' '));
      define(*app_.add_subcommand(name), name);
    }
  }

  Result<CommandLine> read(std::span<const std::string> args) {
    if (asks_for_help(args)) return line_;
    auto arguments = library_arguments(args);
    if (!arguments) return arguments.error();
    try {
      app_.parse(std::move(*arguments));
    } catch (const CLI::ParseError& error) {
      return invalid_argument("", error.what());
    }
    for (const std::string& extra : app_.remaining(true)) {
      if (extra != "--") return unknown(extra);
    }
    take_words(app_);
    for (const CLI::App* command : app_.get_subcommands()) {
      line_.command = command->get_name();
      take_words(*command);
    }
    return line_;
  }

 private:
  // The options that `command` alone has; "" stands for those that all commands have.
  void define(CLI::App& app, const std::string& command) {
    for (const NamedOption& named : names_.all()) {
      const auto& of = named.option->only_of;
      const bool here = of.empty() ? command.empty() : std::ranges::count(of, command) > 0;
      if (here) define_option(app, named);
    }
    app.add_option("words", CLI::callback_t())->expected(kWordsMax)->take_all();
  }

  void define_option(CLI::App& app, const NamedOption& named) {
    const auto take = [this, named](const CLI::results_t& results) {
      const std::string& name = named.name;
      line_.options.push_back({named.option, name, named.value(results[0]), "option " + name});
      return true;
    };
    CLI::Option* const added = app.add_option(library_name(named.name), take)->trigger_on_parse();
    const std::string& implied = named.option->implied;
    if (is_flag(*named.option)) added->expected(0);
    if (!implied.empty()) added->expected(0, 1)->default_str(implied);
  }

  bool asks_for_help(std::span<const std::string> args) {
    for (const std::string& argument : args) {
      const auto named = names_.find(argument);
      if (argument == "--") break;
      if (!named || named->option->support != Support::kCommandLineOnly) continue;
      line_.options.push_back({named->option, named->name, "on", "option " + named->name});
    }
    return !line_.options.empty();
  }

  // The last one first, as CLI11 wants them.
  [[nodiscard]] Result<std::vector<std::string>> library_arguments(
      std::span<const std::string> args) const {
    std::vector<std::string> all;
    const auto words = std::ranges::find(args, "--");
    for (auto at = args.begin(); at != words; ++at) {
      const auto named = names_.find(*at);
      if (!named) {
        all.push_back(*at);
        continue;
      }
      const Option& option = *named->option;
      const bool has_value = at->find('=') != std::string::npos;
      const bool needs_value = !has_value && !is_flag(option) && option.implied.empty();
      if (needs_value && (at + 1 == args.end() || names_.find(at[1]))) return no_value(*named);
      all.push_back(library_name(named->name));
      if (has_value) add_value(option, at->substr(at->find('=') + 1), all);
    }
    all.insert(all.end(), words, args.end());
    std::ranges::reverse(all);
    return all;
  }

  // To CLI11 `--name=` is `--name`; to a script whose variable is empty it is not.
  static void add_value(const Option& option, const std::string& value,
                        std::vector<std::string>& all) {
    if (!is_flag(option))
      all.push_back(value);
    else
      all.back() += "=" + (value.empty() ? "(nothing)" : value);
  }

  void take_words(const CLI::App& app) {
    const auto& words = app.get_option("words")->results();
    line_.words.insert(line_.words.end(), words.begin(), words.end());
  }

  [[nodiscard]] static Error no_value(const NamedOption& named) {
    const std::string& name = named.name;
    return invalid_argument(
        name, "option " + name + " needs a value: " + name + " " + named.option->value);
  }

  [[nodiscard]] Error unknown(const std::string& argument) const {
    const std::string name = argument.substr(0, argument.find('='));
    if (const auto named = names_.find(name)) {
      return invalid_argument(name, "option " + name + " belongs to `" + syntax_.command + " " +
                                        named->option->only_of.front() + "`");
    }
    std::vector<std::string> known;
    for (const NamedOption& named : names_.all()) known.push_back(named.name);
    const std::string see = syntax_.command.empty() ? "" : "; see " + syntax_.command + " --help";
    return invalid_argument(
        name, "unknown option " + name + did_you_mean(nearest_name(name, known), see));
  }

  const CommandSyntax& syntax_;
  const OptionNames names_;
  CLI::App app_;
  CommandLine line_;
};

}  // namespace

Result<CommandLine> read_command_line(const CommandSyntax& syntax,
                                      std::span<const std::string> args) {
  return Reader(syntax).read(args);
}

Result<void> set_option(const GivenOption& given) {
  const OptionKind& kind = given.option->kind;
  if (kind.set(given.value)) return {};
  return invalid_argument(
      given.name, given.subject + " needs " + kind.expects + ", not \"" + given.value + "\"");
}

Result<CommandLine> parse_command_line(const CommandSyntax& syntax,
                                       std::span<const std::string> args) {
  auto line = read_command_line(syntax, args);
  if (!line) return line;
  for (const GivenOption& given : line->options) {
    if (auto set = set_option(given); !set) return set.error();
  }
  return line;
}

}  // namespace holdfast::cli
