#include "cli/replay.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace holdfast::cli {
namespace {

Result<ReplayOptions> parsed(std::vector<std::string> args) { return parse_replay_options(args); }

TEST(ReplayOptions, AreRead) {
  const auto options = parsed({"today.hfrec", "--report", "today.html", "--json"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->file, "today.hfrec");
  EXPECT_EQ(options->report, "today.html");
  EXPECT_TRUE(options->json);
  for (const char* help : {"--help", "-h", "help"}) EXPECT_TRUE(parsed({help})->show_help) << help;
}

TEST(ReplayOptions, MistakesAreNamed) {
  EXPECT_NE(parsed({}).error().message.find("serve --record FILE"), std::string::npos);
  EXPECT_NE(parsed({"a", "b"}).error().message.find("one recording at a time"), std::string::npos);
  EXPECT_NE(parsed({"a", "--report"}).error().message.find("needs a value"), std::string::npos);
  EXPECT_NE(parsed({"a", "--reprot", "x"}).error().message.find("--report"), std::string::npos);
}

TEST(ReplayOptions, PoliciesAreComparedElsewhere) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--policy", "all", "a"}, {"a", "--trace=b"}, {"--policy", "-h"}}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(replay_main(args), kExitUsage);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("holdfast-policy, with the same options"), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << "one line";
  }
}

record::ReplayOutcome outcome_of_two() {
  record::ReplayOutcome outcome;
  outcome.header.build = "holdfast test";
  outcome.whole = true;
  record::ReplayedRequest good;
  good.number = 1;
  good.receipt.prompt_tokens = 100;
  good.receipt.recomputed = 100;
  good.receipt.prompt_ms = 50;
  record::ReplayedRequest missed = good;
  missed.number = 2;
  missed.receipt.matched = 90;
  missed.receipt.missing.why = cache::MissReason::kEvicted;
  outcome.requests = {good, missed};
  return outcome;
}

TEST(ReplayText, SaysWhatIsTheSameAndWhatWasMissed) {
  const std::string text = replay_text(outcome_of_two(), "today.hfrec");
  EXPECT_NE(text.find("receipts identical: 2 of 2"), std::string::npos);
  EXPECT_NE(text.find("reused: 0 of 200 prompt tokens"), std::string::npos);
  EXPECT_NE(text.find("90 tokens, 0.0 s, in 1 request: the state had been dropped"),
            std::string::npos);
}

// They were known, if not to this server.
TEST(ReplayText, CountsForeignStatesAsMissed) {
  record::ReplayOutcome outcome = outcome_of_two();
  cache::Receipt& receipt = outcome.requests[1].receipt;
  receipt.matched = 3;
  receipt.missing = {
      .why = cache::MissReason::kForeign, .position = 70, .made_by = "another engine"};
  const std::string text = replay_text(outcome, "today.hfrec");
  EXPECT_NE(text.find("70 tokens, 0.0 s, in 1 request: the state was made by another engine"),
            std::string::npos)
      << text;
}

TEST(ReplayText, ExplainsTheFirstDifferenceHarmlessly) {
  record::ReplayOutcome outcome = outcome_of_two();
  outcome.receipts_differ = 1;
  outcome.requests[1].differences = {{"restored", "10", "20"}};
  outcome.notes = {"event 7 (receipt, request 2): \x1b[2J restored 10, the replay 20"};
  outcome.trouble = "the file is cut off";
  outcome.whole = false;
  const std::string text = replay_text(outcome, "today.hfrec");
  EXPECT_NE(text.find("receipts identical: 1 of 2"), std::string::npos);
  EXPECT_NE(text.find("first difference: event 7"), std::string::npos);
  EXPECT_NE(text.find("not whole: the file is cut off"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ReplayJson, HasEveryRequest) {
  record::ReplayOutcome outcome = outcome_of_two();
  outcome.requests[0].receipt.prompt_ms = std::numeric_limits<double>::quiet_NaN();
  outcome.requests[0].receipt.id = "\xff\xfe";  // no text at all
  const auto json = nlohmann::json::parse(replay_json(outcome));
  EXPECT_EQ(json["identical"], true);
  EXPECT_EQ(json["requests"].size(), 2U);
  EXPECT_TRUE(json["requests"][0]["prompt_ms"].is_null());
  EXPECT_EQ(json["requests"][1]["missed"], 90);
  EXPECT_EQ(json["requests"][1]["missing"], "evicted");
}

}  // namespace
}  // namespace holdfast::cli
