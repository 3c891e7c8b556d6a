// The options of holdfast-policy, and a small trace from end to end.
#include "policy/comparison.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "policy/policy.h"

namespace holdfast::policy {
namespace {

std::string error_of(const std::vector<std::string>& args) {
  const auto options = parse_options(args);
  return options.ok() ? "" : options.error().message;
}

TEST(Options, SizesModelsAndNames) {
  const auto options = parse_options(std::vector<std::string>{
      "--policy", "--trace", "a.jsonl", "b.jsonl", "--budget", "64GiB,1.5T,inf", "--model",
      "27b,attention-8b", "--outputs=both", "--sessions", "7"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_GT(options->policies.size(), 8U) << "--policy alone means all";
  EXPECT_EQ(options->traces, (std::vector<std::string>{"a.jsonl", "b.jsonl"}));
  EXPECT_EQ(options->budgets,
            (std::vector<ByteCount>{ByteCount{64} << 30, ByteCount{3} << 39, kUnlimited}));
  ASSERT_EQ(options->models.size(), 2U);
  EXPECT_EQ(options->models[0].name, "qwen3.6-27b");
  EXPECT_EQ(options->outputs.size(), 2U);
  EXPECT_EQ(options->trace.sessions, 7U);
}

TEST(Options, HelpNeedsNothingElse) {
  for (const char* name : {"--help", "-h"}) {
    const auto options = parse_options(std::vector<std::string>{name});
    ASSERT_TRUE(options.ok()) << options.error().message;
    EXPECT_TRUE(options->show_help);
  }
}

TEST(Options, MistakesAreNamed) {
  EXPECT_NE(error_of({"--trace", "a"}).find("--policy all"), std::string::npos);
  EXPECT_NE(error_of({"--policy", "all"}).find("--trace FILE"), std::string::npos);
  EXPECT_EQ(error_of({"--policy", "lru,magic", "a"}),
            "option --policy needs names of policies with commas between, or all, not "
            "\"lru,magic\"");
  for (const char* size : {"64", "GiB", "-1GiB", "64Gib", "0M", "nan", "1e300G", ","}) {
    EXPECT_NE(error_of({"--policy", "lru", "a", "--budget", size}), "") << size;
  }
  EXPECT_NE(error_of({"--policy", "lru", "a", "--modl", "27b"}).find("did you mean --model"),
            std::string::npos);
  EXPECT_NE(error_of({"--qqqqqqqq"}).find("see holdfast-policy --help"), std::string::npos);
}

class Comparison : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_)
        << R"({"timestamp": 0, "input_length": 2048, "output_length": 4, "hash_ids": [1, 2, 3, 4]})"
           "\n"
        << R"({"timestamp": 9, "input_length": 2560, "output_length": 4, "hash_ids": [1, 2, 3, 4, 5]})"
           "\n";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<std::string> run(std::vector<std::string> more) const {
    std::vector<std::string> args = {"--policy", "holdfast,lru,oracle", "--trace", path_};
    args.insert(args.end(), more.begin(), more.end());
    return compare(*parse_options(args), false, false);
  }

  const std::string path_ = (std::filesystem::temp_directory_path() /
                             ("holdfast-policy-" + std::to_string(::getpid()) + ".jsonl"))
                                .string();
};

TEST_F(Comparison, ATableForPeople) {
  const auto text = run({"--budget", "1G,inf", "--details"});
  ASSERT_TRUE(text.ok()) << text.error().message;
  for (const char* part : {"no limit", "1.0 GiB", "holdfast", "oracle", "100.00", "us p99",
                           "Holdfast is ahead of every peer in"}) {
    EXPECT_NE(text->find(part), std::string::npos) << part << "\n" << *text;
  }
}

TEST_F(Comparison, JsonForPrograms) {
  const auto text = run({"--json"});
  ASSERT_TRUE(text.ok()) << text.error().message;
  const auto cells = nlohmann::json::parse(*text);
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0]["policy"], "holdfast");
  EXPECT_GT(cells[0]["reused_tokens"], 2000);
  EXPECT_TRUE(cells[0]["budget_bytes"].is_null());
  EXPECT_EQ(cells[2]["eta"], 1.0);
}

TEST_F(Comparison, ABadTraceIsAnErrorWithItsLine) {
  std::ofstream(path_, std::ios::app) << "{\"timest";
  const auto text = run({});
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("line 3: is not JSON"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::policy
