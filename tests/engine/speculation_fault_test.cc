// H5 on the real engine: a companion that fails, lies, is told the wrong thing or is
// not there changes no answer, no reuse and no checkpoint.
//
// Each way once for each model by default; HOLDFAST_SPECULATION_ROUNDS=20 with as many
// seeds.
#include <iostream>

#include "conversation_script.h"
#include "odd_companions.h"

namespace holdfast {
namespace {

constexpr TokenPos kAnswer = 10;

class FaultySpeculation : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    steps_ = converse_without(GetParam(), kAnswer);
    model_ = load_model(GetParam(), Drafting::kMtp);
  }

  // One call in this many is odd. What it is told is odd now and then, because once is
  // enough to keep it silent.
  static unsigned every(Oddity oddity, unsigned round) {
    return (oddity <= Oddity::kToldNothing ? 3 : 1) + round % 3;
  }

  // The whole conversation; what its drafts were worth.
  DraftCounts expect_unchanged(engine::Companion* companion, const std::string& what) {
    SCOPED_TRACE(GetParam() + ", " + what);
    SpeculatingServer server(model_, {.companion = companion});
    Sameness sum;
    for (const Step& step : steps_) {
      SCOPED_TRACE(step.name);
      const auto answer = run_step(server, step, kAnswer);
      expect_same(*answer, *step.alone, sum, what);
      const cache::Receipt& seen = answer->receipt();
      const cache::Receipt& wanted = step.alone->receipt();
      EXPECT_EQ(seen.restored, wanted.restored);
      EXPECT_EQ(seen.checkpoints, wanted.checkpoints);
      EXPECT_EQ(seen.matched, wanted.matched);
      EXPECT_EQ(cache::check_receipt(seen), std::vector<std::string>{});
    }
    EXPECT_EQ(sum.equal, steps_.size());
    return server.scheduler().status().drafts;
  }

  static unsigned rounds() {
    return static_cast<unsigned>(from_environment("HOLDFAST_SPECULATION_ROUNDS", 1));
  }

  std::vector<Step> steps_;
  llama::LoadedModel model_;
};

TEST_P(FaultySpeculation, OddCompanionsChangeNothing) {
  const DraftCounts sound = expect_unchanged(model_.companion.get(), "sound");
  std::cout << GetParam() << ", sound: accepted" << rates(sound) << "\n";
  for (unsigned round = 0; round < rounds(); ++round) {
    for (const auto& [oddity, what] : kOddities) {
      Odd odd(*model_.companion, oddity, every(oddity, round), round);
      const DraftCounts drafts = expect_unchanged(&odd, what);
      std::cout << GetParam() << ", " << what << ": accepted" << rates(drafts) << "\n";
    }
  }
  EXPECT_EQ(expect_unchanged(model_.companion.get(), "sound again"), sound);
}

TEST_P(FaultySpeculation, FailuresInsideTheCompanionChangeNothing) {
  const DraftCounts sound = expect_unchanged(model_.companion.get(), "sound");
  llama::LlamaMtp& mtp = mtp_of(model_);
  const std::vector<std::pair<llama::MtpOperation, const char*>> operations = {
      {llama::MtpOperation::kDecode, "decode fails"},
      {llama::MtpOperation::kTrim, "trim is refused"},
      {llama::MtpOperation::kSave, "save fails"},
      {llama::MtpOperation::kRestore, "restore fails"}};
  for (const auto& [failing, what] : operations) {
    mtp.set_fault([failing](llama::MtpOperation operation) { return operation == failing; });
    std::cout << GetParam() << ", " << what << ": accepted" << rates(expect_unchanged(&mtp, what))
              << "\n";
  }
  std::mt19937 random(3);
  for (unsigned round = 0; round < rounds(); ++round) {
    mtp.set_fault([&](llama::MtpOperation) { return random() % 4 == 0; });
    (void)expect_unchanged(&mtp, "one in four fails");
  }
  mtp.set_fault(nullptr);
  EXPECT_EQ(expect_unchanged(&mtp, "sound again"), sound);
}

// Several slots share the companion's batches.
TEST_P(FaultySpeculation, NeighboursOfAFailureGetTheirOwnAnswers) {
  auto model = load_model(GetParam(), Drafting::kMtp, 4);
  steps_.resize(6);
  std::vector<Tokens> prompts;
  for (const Step& step : steps_) prompts.push_back(step.prompt);
  const auto expect_answers = [&](engine::Companion& companion, const std::string& what) {
    SpeculatingServer server(model, {.companion = &companion});
    const auto answers = server.run_all(prompts, kAnswer);
    Sameness sum;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      expect_same(*answers[i], *steps_[i].alone, sum, what + ", " + steps_[i].name);
    }
  };
  for (const auto& [oddity, what] : kOddities) {
    if (oddity > Oddity::kDraftsNothing) break;  // memory is no matter of slots
    Odd odd(*model.companion, oddity, 3, 1);
    expect_answers(odd, what);
  }
  std::mt19937 random(4);
  mtp_of(model).set_fault([&](llama::MtpOperation) { return random() % 4 == 0; });
  expect_answers(*model.companion, "one in four fails");
}

TEST_P(FaultySpeculation, WithoutTheCompanionThatTheEngineWasMadeFor) {
  (void)expect_unchanged(model_.companion.get(), "with it");
  model_.companion.reset();
  (void)expect_unchanged(nullptr, "without it");
}

INSTANTIATE_TEST_SUITE_P(Models, FaultySpeculation, ::testing::Values("pocket", "qwen3next"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace holdfast
