#include <gtest/gtest.h>

#include "cli/exact_book.h"
#include "cli/exact_view.h"
#include "cli/verify_exact.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

ExactAnswer answer() {
  return {.tokens_hash = "00000000000000aa",
          .prompt_hash = "00000000000000bb",
          .prompt_tokens = 100,
          .text = "the code is 12345",
          .tokens = {"the", "code"},
          .logprobs = {-0.5, -0.25}};
}

ExactPair pair(const ExactAnswer& running, const ExactAnswer& cold = answer()) {
  return {.reuse = "memory", .occasion = "turn", .where = "w", .running = running, .cold = cold};
}

ExactRunFacts whole() { return {.what = "some requests", .complete = true}; }

// --- reading ----------------------------------------------------------------------

constexpr const char* kBody = R"({"choices": [
  {"message": {"role": "assistant", "content": "Hi", "tool_calls": [
     {"id": "random", "function": {"name": "f", "arguments": "{}"}}]},
   "finish_reason": "stop",
   "logprobs": {"content": [{"token": "Hi", "logprob": -0.125, "bytes": [72, 105]}]}}],
  "cache_receipt": {"tokens_hash": "01", "prompt_hash": "02", "prompt_tokens": 7,
    "restored_tokens": 5, "prewarmed_tokens": 2, "restored_from": "disk"}})";

TEST(ExactAnswers, AreReadFromAnswersWithReceipts) {
  const auto read = read_answers(kBody);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1U);
  const ExactAnswer& one = read->front();
  EXPECT_EQ(one.tokens_hash, "01");
  EXPECT_EQ(one.prompt_hash, "02");
  EXPECT_EQ(one.prompt_tokens, 7);
  EXPECT_EQ(one.restored, 5);
  EXPECT_EQ(one.prewarmed, 2);
  EXPECT_EQ(one.restored_from, "disk");
  EXPECT_EQ(one.logprobs, std::vector<double>{-0.125});
  EXPECT_EQ(one.text.find("random"), std::string::npos) << "each answer has ids of its own";
  EXPECT_NE(one.text.find("\"f\""), std::string::npos);
}

TEST(ExactAnswers, WithoutHashesNothingCanBeSaid) {
  Json body = Json::parse(kBody);
  body["cache_receipt"]["prompt_hash"] = nullptr;
  EXPECT_FALSE(read_answers(body.dump()));
  body.erase("cache_receipt");
  EXPECT_FALSE(read_answers(body.dump()));
  EXPECT_FALSE(read_answers("no JSON"));
}

// --- comparing --------------------------------------------------------------------

TEST(ExactDifferences, OfEachKind) {
  const ExactDifference none = difference_of(answer(), answer());
  EXPECT_FALSE(none.prompt || none.first_token || none.text || none.other_tokens);
  EXPECT_EQ(none.apart, 0.0);

  ExactAnswer other = answer();
  other.prompt_hash = "00000000000000bc";
  EXPECT_TRUE(difference_of(other, answer()).prompt);

  other = answer();
  other.logprobs = {-0.5, -0.375};
  EXPECT_FALSE(difference_of(other, answer()).first_token);
  EXPECT_EQ(difference_of(other, answer()).apart, 0.125);

  other.logprobs = {-0.75, -0.25};
  EXPECT_TRUE(difference_of(other, answer()).first_token);
  EXPECT_EQ(difference_of(other, answer()).first_apart, 0.25);

  other = answer();
  other.text = "another";
  EXPECT_TRUE(difference_of(other, answer()).text);
}

// Of two answers that part, later tokens do not compare.
TEST(ExactDifferences, LogprobsCountUpToTheFirstOtherToken) {
  ExactAnswer other = answer();
  other.tokens = {"a", "code"};
  other.logprobs = {-9.0, -9.0};
  const ExactDifference found = difference_of(other, answer());
  EXPECT_TRUE(found.first_token);
  EXPECT_EQ(found.apart, 0.0);
}

TEST(ExactDifferences, OtherTokensAreNoDifference) {
  ExactAnswer other = answer();
  other.tokens_hash = "00000000000000ab";
  other.prompt_hash = "00000000000000bc";
  const ExactDifference found = difference_of(other, answer());
  EXPECT_TRUE(found.other_tokens);
  EXPECT_FALSE(found.prompt);
}

// --- sums and the verdict ---------------------------------------------------------

TEST(ExactBook, EXACT1AddsUp) {
  ExactBook book;
  ExactAnswer other = answer();
  other.prompt_hash = "x";
  book.note(pair(answer()));
  book.note(pair(other));
  ExactPair needle = pair(answer());
  needle.reuse = "disk";
  needle.needle = "12345";
  book.note(needle);
  const ExactTotals totals = book.totals();
  EXPECT_EQ(totals.all.requests, 3U);
  EXPECT_EQ(totals.all.prompts, 1U);
  EXPECT_EQ(totals.by_reuse.at("memory").requests, 2U);
  EXPECT_EQ(totals.by_reuse.at("disk").found_cold, 1U);
  EXPECT_EQ(totals.differing.size(), 1U);
  EXPECT_TRUE(book.check().empty());
}

TEST(ExactVerdict, SaysWhetherAPromptDiffers) {
  ExactBook book;
  EXPECT_EQ(exact_exit_code(book.totals(), whole()), 2) << "nothing was compared";
  book.note(pair(answer()));
  EXPECT_EQ(exact_exit_code(book.totals(), whole()), 0);
  EXPECT_NE(exact_text(book.totals(), whole()).find("No prompt of 1 differs"), std::string::npos);
  ExactAnswer text = answer();
  text.text = "another";
  book.note(pair(text));
  EXPECT_EQ(exact_exit_code(book.totals(), whole()), 0) << "what was decoded is not promised";
  ExactAnswer other = answer();
  other.prompt_hash = "x";
  book.note(pair(other));
  EXPECT_EQ(exact_exit_code(book.totals(), whole()), 1);
  EXPECT_NE(exact_text(book.totals(), whole()).find("1 of 3 prompts differ"), std::string::npos);
  EXPECT_EQ(exact_json(book.totals(), whole())["by_reuse"]["memory"]["prompts_differing"], 1);
}

TEST(ExactVerdict, WhatWasNotComparedIsNotCalledExact) {
  for (const int fault : {0, 1, 2}) {
    ExactBook book;
    book.note(pair(answer()));
    ExactRunFacts facts = whole();
    if (fault == 0) facts.complete = false;
    if (fault == 1) book.note_failure("broken");
    ExactAnswer warm = answer();
    warm.restored = 50;
    if (fault == 2) book.note(pair(answer(), warm));
    EXPECT_EQ(exact_exit_code(book.totals(), facts), 2) << fault;
  }
}

// --- the command line -------------------------------------------------------------

Result<VerifyExactOptions> parsed(const std::vector<std::string>& args) {
  return parse_verify_exact_options(args, {});
}

TEST(VerifyExactOptions, WhatIsNotKnownIsForTheServers) {
  const auto options =
      parsed({"-c", "4k", "--clients", "3", "--deterministic", "--seed=9", "-np", "2"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->serve_options,
            (std::vector<std::string>{"-c", "4k", "--deterministic", "-np", "2"}));
  EXPECT_EQ(options->clients, 3);
  EXPECT_EQ(options->seed, 9U);
  EXPECT_EQ(options->random, 200);
  EXPECT_EQ(options->restarts, 1);
  EXPECT_EQ(options->cold_clients, 1);
}

TEST(VerifyExactOptions, TwoServersThatRun) {
  const auto options = parsed({"--server", "a:1", "--cold", "b:2", "--needles", "--key", "k"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->restarts, 0);
  EXPECT_EQ(options->random, 0);
  EXPECT_EQ(parsed({"--control", "--clients", "4"})->cold_clients, 4);
}

TEST(VerifyExactOptions, MistakesAreNamed) {
  const auto param = [](const std::vector<std::string>& args) {
    const auto options = parsed(args);
    return options ? "none" : options.error().param;
  };
  EXPECT_EQ(param({"--server", "a:1"}), "--cold");
  EXPECT_EQ(param({"--cold", "a:1"}), "--server");
  EXPECT_EQ(param({"--server", "a:1", "--cold", "b:2", "-c", "4k"}), "-c");
  EXPECT_EQ(param({"--server", "a:1", "--cold", "b:2", "--restarts", "1"}), "--restarts");
  EXPECT_EQ(param({"--restart-command", "x"}), "--restart-command");
  EXPECT_EQ(param({"--needles", "--random", "5"}), "--random");
  EXPECT_FALSE(parsed({"--clients", "0"}));
  EXPECT_FALSE(parsed({"--no-such-option"}));
  EXPECT_FALSE(parsed({"--seed"}));
}

}  // namespace
}  // namespace holdfast::cli
