#include "cli/manual.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "cli/build_name.h"
#include "cli/command_tables.h"
#include "cli/option_sources.h"
#include "cli/text_parts.h"
#include "cli/text_wrap.h"

namespace holdfast::cli {
namespace {

// What roff would take for its own.
std::string_view escaped(char c) {
  switch (c) {
    case '\\': return "\\e";
    case '-': return "\\-";
    case '\'': return "\\(aq";
    case '`': return "\\(ga";
    case '^': return "\\(ha";
    case '~': return "\\(ti";
    case kFixedSpace: return "\\ ";
    default: return {};
  }
}

// A text on one line of the source.
std::string roff(std::string_view text) {
  std::string out = text.starts_with('.') ? "\\&" : "";
  for (const char c : text) {
    const std::string_view instead = escaped(c);
    instead.empty() ? out.push_back(c) : static_cast<void>(out.append(instead));
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string upper(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// The title's line has its own rule: a quote would end it.
std::string section(std::string_view title) { return ".SH " + roff(upper(title)) + "\n"; }

std::string page_name(const CommandSyntax& syntax) {
  std::string name = syntax.command;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string paragraph(std::string_view text) { return text.empty() ? "" : roff(text) + "\n"; }

// A line such as "Examples:" heads what follows it; all else stands as it is written.
std::string body_text(const std::string& body) {
  const auto end = body.find('\n');
  std::string title = body.substr(0, end);
  if (!title.ends_with(':')) return "";
  title.pop_back();
  std::string text = section(title) + ".nf\n";
  for (std::size_t at = end + 1; at < body.size();) {
    const auto stop = std::min(body.find('\n', at), body.size());
    text += roff(std::string_view(body).substr(at, stop - at)) + "\n";
    at = stop + 1;
  }
  return text + ".fi\n";
}

std::string commands_text(const CommandSyntax& syntax) {
  if (syntax.commands.empty()) return "";
  std::string text = section("Commands");
  for (const SubCommand& command : syntax.commands) {
    const std::string word = first_word(command.usage);
    text += ".TP\n" + bold(syntax.command + " " + word) + roff(command.usage.substr(word.size())) +
            "\n" + paragraph(command.about + ".");
  }
  return text;
}

// "Environment: HOLDFAST_MODEL, LLAMA_ARG_MODEL."
std::string environment_text(const Option& option) {
  const auto dashes = option.names.find("--");
  if (option.support == Support::kCommandLineOnly || dashes == std::string::npos) return "";
  const std::string name =
      option.names.substr(dashes, option.names.find_first_of(", ", dashes) - dashes);
  const std::string llama = option.llama_env.empty() ? "" : ", " + option.llama_env;
  return ".br\n" + paragraph("Environment: " + environment_name(name) + llama + ".");
}

std::string option_text(const Option& option, bool from_environment) {
  std::string text = ".TP\n" + bold(option.names);
  if (!is_flag(option)) text += " " + italic(option.value);
  text += "\n" + paragraph(option.help);
  if (!option.kind.shown.empty()) text += paragraph("(default: " + option.kind.shown + ")");
  return text + (from_environment ? environment_text(option) : "");
}

std::string options_text(const CommandSyntax& syntax) {
  std::string text;
  for (const OptionGroup& group : syntax.groups) {
    if (group.title.empty()) continue;
    if (text.empty()) text = section("Options");
    if (group.title != "Options") text += ".SS " + roff(group.title) + "\n";
    for (const Option& option : group.options) text += option_text(option, syntax.from_environment);
  }
  return text;
}

std::string see_also(const std::string& page) {
  std::string text = section("See also");
  std::vector<std::string> others = manual_pages();
  std::erase(others, page);
  for (const std::string& other : others)
    text += ".BR " + roff(other) + " (1)" + (&other == &others.back() ? "\n" : ",\n");
  return text;
}

std::string synopsis(const CommandSyntax& syntax) {
  const std::string rest = syntax.commands.empty() ? " [options]" : " command [options]";
  return section("Synopsis") + bold(syntax.command) + rest + "\n";
}

}  // namespace

std::vector<std::string> manual_pages() {
  std::vector<std::string> pages;
  visit_commands([&](const CommandSyntax& syntax) { pages.push_back(page_name(syntax)); });
  return pages;
}

std::string manual_page(const CommandSyntax& syntax) {
  const std::string page = page_name(syntax);
  return ".TH " + roff(upper(page)) + " 1 \"\" \"Holdfast " + program_version() +
         "\" \"Holdfast\"\n" + section("Name") + roff(page) + " \\- " + roff(about(syntax)) + "\n" +
         synopsis(syntax) + section("Description") +
         paragraph(upper(about(syntax).substr(0, 1)) + about(syntax).substr(1) + ".") +
         paragraph(more_about(syntax)) + commands_text(syntax) + options_text(syntax) +
         body_text(syntax.body) +
         (syntax.closing.empty() ? "" : section("Notes") + paragraph(syntax.closing)) +
         section("Exit status") +
         "0 where all went well, 1 where something failed, 2 where the command line is at "
         "fault.\n" +
         see_also(page);
}

Result<std::string> manual(std::span<const std::string> args) {
  if (args.size() > 1)
    return invalid_argument("COMMAND", "one page at a time: " + args[0] + " or " + args[1] + "?");
  const std::string wanted = args.empty() ? "" : args[0];
  if (wanted == "--list") return join(manual_pages(), "\n") + "\n";
  std::optional<std::string> found;
  visit_commands([&](const CommandSyntax& syntax) {
    if (name_of(syntax) == wanted) found = manual_page(syntax);
  });
  if (found) return *found;
  return invalid_argument("COMMAND", "there is no manual page for '" + wanted +
                                         "'; `holdfast manual --list` names all.");
}

}  // namespace holdfast::cli
