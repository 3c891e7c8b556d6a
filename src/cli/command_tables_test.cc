// What is printed from the tables of options: man pages and completions.
#include "cli/command_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/build_name.h"
#include "cli/completion.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "cli/program.h"

namespace holdfast::cli {
namespace {

std::vector<std::string> names_of_commands() {
  std::vector<std::string> names;
  visit_commands([&](const CommandSyntax& syntax) { names.push_back(name_of(syntax)); });
  return names;
}

const CompletedCommand& command_named(const std::vector<CompletedCommand>& commands,
                                      const std::string& name) {
  const auto found = std::ranges::find(commands, name, &CompletedCommand::name);
  EXPECT_NE(found, commands.end()) << name;
  return *found;
}

bool has_option(const CompletedCommand& command, const std::string& name) {
  return std::ranges::find(command.options, name, &CompletedOption::name) != command.options.end();
}

// A command that is in the overview and has options is in the tables.
TEST(CommandTables, EveryCommandIsVisited) {
  EXPECT_EQ(names_of_commands(),
            (std::vector<std::string>{"", "serve", "chat", "launch", "explain", "doctor", "cache",
                                      "replay", "verify-exact"}));
  const std::vector<std::string> bare = {"completion", "manual", "version"};
  for (const SubCommand& sub : program_syntax().commands) {
    const std::string name = first_word(sub.usage);
    EXPECT_NE(std::ranges::count(names_of_commands(), name) + std::ranges::count(bare, name), 0)
        << name;
  }
}

TEST(CommandTables, AnIntroductionIsTakenApart) {
  const CommandSyntax syntax{.command = "holdfast x",
                             .intro = "holdfast x - do it. Then more. End."};
  EXPECT_EQ(name_of(syntax), "x");
  EXPECT_EQ(about(syntax), "do it");
  EXPECT_EQ(more_about(syntax), "Then more. End.");
  const CommandSyntax brief{.command = "holdfast", .intro = "holdfast - do it."};
  EXPECT_EQ(about(brief), "do it");
  EXPECT_EQ(more_about(brief), "");
}

// --- man pages --------------------------------------------------------------------------------

TEST(Manual, EveryShownOptionIsInItsPage) {
  visit_commands([](const CommandSyntax& syntax) {
    const std::string page = manual_page(syntax);
    for (const OptionGroup& group : syntax.groups) {
      for (const Option& option : group.options) {
        std::string name = option.names.substr(0, option.names.find_first_of(", "));
        for (std::size_t at = 0; (at = name.find('-', at)) != std::string::npos; at += 2)
          name.insert(at, "\\");
        const auto is_there = [&](const char* behind) {
          return page.find("\n\\fB" + name + behind) != std::string::npos;
        };
        const bool found = is_there(",") || is_there(" /") || is_there("\\fR");
        EXPECT_EQ(found, !group.title.empty()) << syntax.command << " " << option.names;
      }
    }
  });
}

TEST(Manual, NoTextBecomesACommandOfRoff) {
  const CommandSyntax syntax{
      .command = "holdfast x",
      .intro = "holdfast x - a. .so /etc/passwd",
      .body = "Examples:\n.so evil\n  `a` 'b' \\n\n",
      .groups = {{"Options", {{"--one", "", {}, "'quoted' and ~ ^ \x01."}}}}};
  const std::string page = manual_page(syntax);
  EXPECT_NE(page.find("\n\\&.so evil\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.so /etc/passwd\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\\(gaa\\(ga \\(aqb\\(aq \\en"), std::string::npos) << page;
  EXPECT_NE(page.find("\\(aqquoted\\(aq and \\(ti \\(ha \\ ."), std::string::npos) << page;
}

TEST(Manual, PagesHaveVersionDefaultsAndVariables) {
  const auto page = manual(std::vector<std::string>{"serve"});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->find(".TH HOLDFAST\\-SERVE 1 \"\" \"Holdfast " + program_version() + "\""), 0U);
  EXPECT_NE(page->find("\\fB\\-np, \\-\\-parallel\\fR \\fIN\\fR\n"), std::string::npos);
  EXPECT_NE(
      page->find("(default: 4)\n.br\nEnvironment: HOLDFAST_PARALLEL, LLAMA_ARG_N_PARALLEL.\n"),
      std::string::npos);
  EXPECT_EQ(page->find("Environment: HOLDFAST_HELP"), std::string::npos);
  const auto chat = manual(std::vector<std::string>{"chat"});
  EXPECT_EQ(chat->find("Environment: "), std::string::npos) << "only serve reads them";
}

TEST(Manual, AMistakeIsOneSentence) {
  EXPECT_EQ(manual(std::vector<std::string>{"--list"}).value().substr(0, 24),
            "holdfast\nholdfast-serve\n");
  EXPECT_EQ(manual(std::vector<std::string>{"xyz"}).error().message,
            "there is no manual page for 'xyz'; `holdfast manual --list` names all.");
  EXPECT_FALSE(manual(std::vector<std::string>{"serve", "chat"}));
}

// --- completions ------------------------------------------------------------------------------

TEST(Completion, CommandsHaveTheirOptionsAndThoseTheyTakeOver) {
  const auto commands = completed_commands();
  EXPECT_TRUE(has_option(command_named(commands, "serve"), "-ngl"));
  EXPECT_TRUE(has_option(command_named(commands, "serve"), "--no-mmap"));
  EXPECT_FALSE(has_option(command_named(commands, "serve"), "--lora")) << "not supported";
  EXPECT_TRUE(has_option(command_named(commands, "doctor"), "--model"));
  EXPECT_TRUE(has_option(command_named(commands, "launch"), "--print"));
  EXPECT_TRUE(has_option(command_named(commands, "launch"), "-ngl"));
  EXPECT_FALSE(has_option(command_named(commands, "chat"), "-ngl"));
  EXPECT_TRUE(command_named(commands, "replay").files);
  EXPECT_TRUE(command_named(commands, "cache").files);
  EXPECT_FALSE(command_named(commands, "chat").files);
  EXPECT_EQ(command_named(commands, "completion").words.size(), 3U);
}

TEST(Completion, ValuesAreThoseThatTheOptionAccepts) {
  const auto commands = completed_commands();
  const auto& options = command_named(commands, "serve").options;
  const auto level = std::ranges::find(options, "--log-level", &CompletedOption::name);
  EXPECT_EQ(level->values, (std::vector<std::string>{"debug", "info", "warn", "error"}));
  EXPECT_TRUE(std::ranges::find(options, "--model", &CompletedOption::name)->path);
  EXPECT_FALSE(std::ranges::find(options, "--port", &CompletedOption::name)->path);
}

TEST(Completion, ScriptsNameEveryOptionOnce) {
  const auto commands = completed_commands();
  const std::string bash = bash_completion(commands);
  const std::string zsh = zsh_completion(commands);
  const std::string fish = fish_completion(commands);
  for (const CompletedCommand& command : commands) {
    for (const CompletedOption& option : command.options) {
      EXPECT_NE(bash.find(option.name), std::string::npos) << option.name;
      EXPECT_NE(zsh.find("'*" + option.name + "["), std::string::npos) << option.name;
      const auto bare = option.name.substr(option.name.find_first_not_of('-'));
      EXPECT_NE(fish.find(" " + bare + " "), std::string::npos) << option.name;
    }
  }
}

TEST(Completion, QuotesInATableEndNoString) {
  const std::vector<CompletedCommand> commands = {
      {.name = "x",
       .about = "it's",
       .options = {{"--one", "a 'b' [c]: $(d)", "N|it's", {}, false}}}};
  EXPECT_NE(bash_completion(commands).find("words=''"), std::string::npos);
  EXPECT_NE(zsh_completion(commands).find(R"('*--one[a '\''b'\'' (c)\: $(d)]:N|it'\''s:')"),
            std::string::npos)
      << zsh_completion(commands);
  EXPECT_NE(fish_completion(commands).find(R"(-d 'a \'b\' [c]: $(d)')"), std::string::npos);
}

TEST(Completion, AMistakeIsOneSentence) {
  EXPECT_EQ(completion({}).error().message,
            "for which shell? bash, zsh or fish: holdfast completion bash.");
  EXPECT_EQ(completion(std::vector<std::string>{"tcsh"}).error().message,
            "there are no completions for 'tcsh', but for bash, zsh or fish: holdfast completion "
            "bash.");
}

}  // namespace
}  // namespace holdfast::cli
