// Threads that ask for the date at once do not write into each other's answer.
#include "engine/llama/local_time.h"

#include <chat.h>
#include <gtest/gtest.h>

#include <ctime>
#include <thread>

namespace holdfast::llama {
namespace {

std::tm* answer_at(std::time_t time) { return std::localtime(&time); }

TEST(LocalTime, LTIME1EachThreadHasItsOwn) {
  const std::tm* const here = answer_at(0);
  const std::tm* there = nullptr;
  int year_there = 0;
  std::thread other([&] {
    there = answer_at(std::time_t{86400} * 400);
    year_there = there->tm_year;
  });
  other.join();
  EXPECT_NE(here, there);
  EXPECT_EQ(year_there, 71);
  EXPECT_LE(here->tm_year, 70) << "it is still what was asked for";
}

TEST(LocalTime, LTIME2TheLibraryAsksHere) {
  EXPECT_TRUE(owns_local_time());
  const auto templates = common_chat_templates_init(nullptr, "{{ messages[0].content }}");
  common_chat_templates_inputs inputs;
  inputs.messages.emplace_back();
  inputs.messages.back().role = "user";
  inputs.messages.back().content = "x";
  inputs.use_jinja = true;
  inputs.force_pure_content = true;
  const std::tm* const answer = answer_at(0);
  (void)common_chat_templates_apply(templates.get(), inputs);
  EXPECT_GT(answer->tm_year, 100) << "the library's answer lies where this thread's own does";
}

}  // namespace
}  // namespace holdfast::llama
