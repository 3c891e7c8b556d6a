// --help. CLI11's own page neither wraps lines nor shows names such as -ngl.
#include <algorithm>

#include "cli/command_syntax.h"
#include "cli/text_wrap.h"

namespace holdfast::cli {
namespace {

std::string help_with_default(const Option& option) {
  const std::string& shown = option.kind.shown;
  if (shown.empty()) return option.help;
  std::string tail = "(default: " + shown + ")";
  if (shown.size() < 16) std::replace(tail.begin(), tail.end(), ' ', kFixedSpace);
  return option.help + " " + tail;
}

std::string commands_text(const CommandSyntax& syntax, int width) {
  std::size_t longest = 0;
  for (const SubCommand& command : syntax.commands)
    longest = std::max(longest, command.usage.size());
  const int column = static_cast<int>(syntax.command.size() + longest) + 6;
  std::string text = "\nCommands:\n";
  for (const SubCommand& command : syntax.commands) {
    text += help_entry(syntax.command + " " + command.usage, command.about, width, column);
  }
  return text;
}

std::string group_text(const OptionGroup& group, int width, int column) {
  std::string text = "\n" + group.title + ":\n";
  for (const Option& option : group.options) {
    const std::string value = is_flag(option) ? "" : " " + option.value;
    text += help_entry(option.names + value, help_with_default(option), width, column);
  }
  return text;
}

}  // namespace

std::string help_entry(const std::string& left, std::string_view text, int width, int column) {
  const std::string begin = "  " + left;
  const std::string wrapped = wrap_text(text, width, column);
  if (begin.size() + 2 > static_cast<std::size_t>(column)) return begin + "\n" + wrapped;
  return begin + wrapped.substr(begin.size());
}

std::string command_help(const CommandSyntax& syntax, int width) {
  std::string text = wrap_text(syntax.intro, width, 0);
  if (!syntax.commands.empty()) text += commands_text(syntax, width);
  if (!syntax.body.empty()) text += "\n" + syntax.body;
  for (const OptionGroup& group : syntax.groups) {
    if (!group.title.empty()) text += group_text(group, width, syntax.column);
  }
  if (!syntax.closing.empty()) text += "\n" + wrap_text(syntax.closing, width, 0);
  return text;
}

}  // namespace holdfast::cli
