#include "cli/doctor.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(DoctorText, AModelsNameDrivesNoTerminal) {
  DoctorReport report;
  report.model.emplace();
  report.model->name = "evil\x1b[2J\x1b]0;owned\x07\nforged: line\xc2\x9b";
  report.problems = {"a problem\x1b[31m with\nlines"};
  const std::string text = doctor_text(report);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(text.find("\nforged"), std::string::npos) << text;
  EXPECT_NE(text.find("evil"), std::string::npos) << text;
}

}  // namespace
}  // namespace holdfast::cli
