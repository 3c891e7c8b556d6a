#include "env/escaped_text.h"

#include <gtest/gtest.h>

namespace holdfast::env {
namespace {

TEST(EscapedText, ALineStaysALine) {
  EXPECT_EQ(escaped_line("a\x1b[31m\nb\tc"), "a\\x1b[31m\\nb c");
  EXPECT_EQ(escaped_line("\xc2\x9b"
                         "31m \xc3\xa9"),
            "\\xc2\\x9b31m \xc3\xa9")
      << "U+009B begins a command of a terminal, as ESC [ does";
  EXPECT_EQ(escaped_line(""), "");
}

TEST(EscapedText, FurtherLinesAreIndented) {
  EXPECT_EQ(escaped_lines("a\nb\x1b\n"), "a\n  b\\x1b\n  ");
  EXPECT_EQ(escaped_lines("one"), "one");
}

}  // namespace
}  // namespace holdfast::env
