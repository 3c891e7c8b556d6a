#include "cli/program.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::cli {
namespace {

std::string answer_to(const std::vector<std::string>& args) { return no_such_command(args); }

TEST(Program, OverviewNamesEveryCommand) {
  for (const char* command : {"serve", "chat", "launch", "explain", "doctor", "cache", "replay",
                              "completion", "manual", "version"})
    EXPECT_NE(overview_help().find(std::string("\n  holdfast ") + command), std::string::npos)
        << command;
}

TEST(Program, OptionsWithoutACommandAreMeantForServe) {
  EXPECT_EQ(answer_to({"-m", "x.gguf"}),
            "the command comes first; did you mean `holdfast serve -m x.gguf`? Try 'holdfast "
            "--help'.");
  EXPECT_NE(answer_to({"my model.gguf", "-a", "it's"})
                .find(R"(`holdfast serve -m 'my model.gguf' -a 'it'\''s'`)"),
            std::string::npos);
}

TEST(Program, AMistypedCommandIsGuessed) {
  EXPECT_EQ(answer_to({"serv", "-m", "x.gguf"}),
            "there is no command 'serv'; did you mean 'serve'? Try 'holdfast --help'.");
  EXPECT_EQ(answer_to({"xyzzyq"}), "there is no command 'xyzzyq'. Try 'holdfast --help'.");
}

}  // namespace
}  // namespace holdfast::cli
