// Speculation on the real engine: whoever drafts, greedy answers are token for token
// those without, in one slot and in four at once, with drafts of a fixed and of a
// changing length.
//
// A few prompts by default; HOLDFAST_SPECULATION_PROMPTS=50 takes as many of the pocket
// model's, with 200 tokens each.
#include <iostream>

#include "odd_companions.h"
#include "speculation_rig.h"
#include "varied_prompts.h"

namespace holdfast {
namespace {

struct Way {
  int slots;
  bool adaptive;
};
const std::vector<Way> kWays = {{1, false}, {1, true}, {4, false}, {4, true}};

std::vector<HeardPtr> answers_without(const std::string& name, Rows rows,
                                      const std::vector<Tokens>& prompts, TokenPos tokens) {
  auto plain = load_model(name, Drafting::kOff, 1, rows);
  SpeculatingServer alone(plain);
  std::vector<HeardPtr> answers;
  for (const Tokens& prompt : prompts) answers.push_back(alone.run(prompt, tokens));
  return answers;
}

// All prompts at once; the tokens that were drafted.
DraftCounts expect_same_answers(SpeculatingServer& server, const std::vector<Tokens>& prompts,
                                const std::vector<HeardPtr>& wanted, const std::string& what) {
  Sameness sum;
  const std::size_t tokens = wanted.front()->reports.size();
  const auto answers = server.run_all(prompts, static_cast<TokenPos>(tokens));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(answers[i]->reports.size(), tokens);
    expect_same(*answers[i], *wanted[i], sum, what + ", prompt " + std::to_string(i));
  }
  const serve::SchedulerStatus status = server.scheduler().status();
  std::cout << what << ": " << sum.equal << " of " << prompts.size() << " equal, " << sum.near_ties
            << " near ties, " << sum.tokens << " tokens in " << status.decode_steps
            << " steps; accepted" << rates(status.drafts) << "\n";
  return status.drafts;
}

void expect_same_each_way(const std::string& name, Rows rows, const std::vector<Tokens>& prompts,
                          TokenPos tokens) {
  const auto wanted = answers_without(name, rows, prompts, tokens);
  for (const auto& [slots, adaptive] : kWays) {
    auto model = load_model(name, Drafting::kMtp, slots, rows);
    const RestlessClock restless(7);
    ServerOptions options{.companion = model.companion.get(), .adaptive = adaptive};
    if (adaptive) options.clock = &restless;
    SpeculatingServer server(model, options);
    server.also_check = [&] { return mtp_of(model).check(); };
    const std::string what = name + (rows == Rows::kQ8 ? " q8_0, " : " f16, ") +
                             std::to_string(slots) + " slots" + (adaptive ? ", adaptive" : "");
    EXPECT_GT(expect_same_answers(server, prompts, wanted, what).drafted, 0U);
  }
}

// --- a model that was trained -------------------------------------------------------

constexpr TokenPos kAnswer = 200;

std::vector<Tokens> pocket_prompts() {
  const auto plain = load_model("pocket", Drafting::kOff);
  const auto count = from_environment("HOLDFAST_SPECULATION_PROMPTS", 5);
  return varied_prompts(*plain.text, static_cast<std::size_t>(count));
}

TEST(SpeculationOnPocket, GreedyAnswersAreThoseWithout) {
  expect_same_each_way("pocket", Rows::kF16, pocket_prompts(), kAnswer);
}

TEST(SpeculationOnPocket, GreedyAnswersAreThoseWithoutOnQuantisedRows) {
  expect_same_each_way("pocket", Rows::kQ8, pocket_prompts(), kAnswer);
}

// --- every architecture with an MTP block -------------------------------------------

class SpeculationOnTiny : public ::testing::TestWithParam<std::string> {
 protected:
  static std::vector<Tokens> prompts() {
    std::vector<Tokens> all;
    for (const TokenPos length : {10, 50, 90, 150}) {
      all.push_back(turn(length, 100 + static_cast<unsigned>(length)));
    }
    return all;
  }
};

TEST_P(SpeculationOnTiny, GreedyAnswersAreThoseWithout) {
  expect_same_each_way(GetParam(), Rows::kF16, prompts(), 80);
}

// Random weights agree with few drafts. So here somebody drafts who knows the answers
// and errs now and then: every number of tokens is accepted, at every place.
TEST_P(SpeculationOnTiny, HoweverMuchIsRight) {
  const auto wanted = answers_without(GetParam(), Rows::kF16, prompts(), 120);
  for (const int slots : {1, 4}) {
    auto model = load_model(GetParam(), Drafting::kMtp, slots, Rows::kF16);
    for (const double truth : {1.0, 0.8, 0.5}) {
      Knowing knowing(slots, truth, 5);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        knowing.teach(prompts()[i], wanted[i]->tokens());
      }
      SpeculatingServer server(model, {.companion = &knowing});
      const std::string what = GetParam() + ", " + std::to_string(slots) + " slots, truth " +
                               std::to_string(truth).substr(0, 3);
      const DraftCounts drafts = expect_same_answers(server, prompts(), wanted, what);
      if (truth == 1.0) {
        EXPECT_EQ(drafts.accepted, drafts.drafted) << what;
      }
      EXPECT_GT(drafts.ranks[kDraftMax - 1].accepted, 0U) << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SpeculationOnTiny,
                         ::testing::Values("qwen35", "qwen35moe", "qwen3next"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace holdfast
