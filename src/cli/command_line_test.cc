#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "cli/option_kinds.h"

namespace holdfast::cli {
namespace {

using namespace option_kinds;
using Args = std::vector<std::string>;

// A command with one option of each kind.
class CommandLineTest : public ::testing::Test {
 protected:
  Result<CommandLine> parse(const Args& args) { return parse_command_line(syntax, args); }

  std::string error_of(const Args& args) {
    const auto line = parse(args);
    return line ? "no error" : line.error().message;
  }

  std::string key;
  std::string mode;
  int layers = 0;
  bool map = true;
  bool all = false;
  bool help = false;
  const CommandSyntax syntax = {
      .command = "tool",
      .intro = "tool - for tests.",
      .commands = {{"list", "what is there"}, {"drop NAME", "less of it"}},
      .groups = {
          {"Options",
           {{"-ngl, --gpu-layers", "N", whole(layers, 0, 99), "Layers."},
            {"-n, --number", "N", whole(layers, 0, 99), "The same."},
            {"--key", "KEY", text(key), "A key."},
            {"--mode", "on|off", word(mode, {"on", "off"}), "A mode.", "", "on"},
            {"--map / -nm, --no-map", "", flag(map), "A flag."},
            {.names = "--all", .kind = flag(all), .help = "A flag of drop.", .only_of = {"drop"}},
            help_option(help)}}}};
};

TEST_F(CommandLineTest, NamesOfSeveralLettersAfterOneDash) {
  ASSERT_TRUE(parse({"-ngl", "7"}));
  EXPECT_EQ(layers, 7);
  ASSERT_TRUE(parse({"-ngl=8"}));
  EXPECT_EQ(layers, 8);
  ASSERT_TRUE(parse({"-nm"}));
  EXPECT_FALSE(map);
  // Not -n with the value "gll", and not -n with "5".
  EXPECT_EQ(error_of({"-ngll", "7"}), "unknown option -ngll; did you mean -ngl?");
  EXPECT_EQ(error_of({"-n5"}), "unknown option -n5; see tool --help");
}

TEST_F(CommandLineTest, ValuesMayBeginWithADashUnlessTheyNameAnOption) {
  ASSERT_TRUE(parse({"--key", "-Ab3"}));
  EXPECT_EQ(key, "-Ab3");
  ASSERT_TRUE(parse({"--key", "--beta"}));
  EXPECT_EQ(key, "--beta");
  ASSERT_TRUE(parse({"--key=[a,b]"}));
  EXPECT_EQ(key, "[a,b]");
  EXPECT_EQ(error_of({"--key", "-ngl", "3"}), "option --key needs a value: --key KEY");
  EXPECT_EQ(error_of({"--key", "--map=off"}), "option --key needs a value: --key KEY");
  EXPECT_EQ(error_of({"--key"}), "option --key needs a value: --key KEY");
}

TEST_F(CommandLineTest, AnEmptyVariableOfAScriptIsAMistake) {
  EXPECT_EQ(error_of({"--key=", "word"}), "option --key needs a text that is not empty, not \"\"");
  EXPECT_EQ(error_of({"--map="}), "option --map needs on or off, not \"(nothing)\"");
}

TEST_F(CommandLineTest, AnImpliedValueStandsInForNone) {
  ASSERT_TRUE(parse({"--mode", "-ngl", "1"}));
  EXPECT_EQ(mode, "on");
  ASSERT_TRUE(parse({"--mode", "off"}));
  EXPECT_EQ(mode, "off");
}

TEST_F(CommandLineTest, TheLaterOfTwoCounts) {
  const auto line = parse({"-ngl", "1", "--gpu-layers", "2"});
  ASSERT_TRUE(line);
  EXPECT_EQ(layers, 2);
  ASSERT_EQ(line->options.size(), 2U);
  EXPECT_EQ(line->options[0].name, "-ngl");
}

TEST_F(CommandLineTest, WordsAreKeptAsTheyAre) {
  const auto line = parse({"[1,2]", "-", "-5", "- x", "--map", "--", "--key", "--"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->words, (Args{"[1,2]", "-", "-5", "- x", "--key", "--"}));
  EXPECT_EQ(line->command, "");
}

TEST_F(CommandLineTest, SubCommandsHaveOptionsOfTheirOwn) {
  const auto line = parse({"--key", "list", "drop", "list", "--all", "-ngl", "4"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->command, "drop");
  EXPECT_EQ(line->words, Args{"list"});
  EXPECT_EQ(key, "list");
  EXPECT_EQ(layers, 4);
  EXPECT_TRUE(all);
  EXPECT_EQ(error_of({"list", "--all"}), "option --all belongs to `tool drop`");
  EXPECT_EQ(error_of({"list", "--al"}), "unknown option --al; did you mean --all?");
}

TEST_F(CommandLineTest, HelpWinsOverMistakes) {
  const auto line = parse({"--nonsense", "-ngl", "x", "-h"});
  ASSERT_TRUE(line);
  EXPECT_TRUE(help);
  EXPECT_EQ(layers, 0);
  help = false;
  ASSERT_TRUE(parse({"--", "-h"}));
  EXPECT_FALSE(help);
}

TEST_F(CommandLineTest, HelpShowsCommandsOptionsAndDefaults) {
  EXPECT_EQ(command_help(syntax, 60),
            "tool - for tests.\n"
            "\nCommands:\n"
            "  tool list        what is there\n"
            "  tool drop NAME   less of it\n"
            "\nOptions:\n"
            "  -ngl, --gpu-layers N\n"
            "                      Layers. (default: 0)\n"
            "  -n, --number N      The same. (default: 0)\n"
            "  --key KEY           A key.\n"
            "  --mode on|off       A mode.\n"
            "  --map / -nm, --no-map\n"
            "                      A flag. (default: on)\n"
            "  --all               A flag of drop.\n"
            "  -h, --help          This text.\n");
}

}  // namespace
}  // namespace holdfast::cli
