// Proofs on the fake engine, whose next token changes with any wrong byte of a state.
#include "serve/prover.h"

#include <gtest/gtest.h>

#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

constexpr ByteCount kAmple = 1 << 20;

SchedulerOptions proving(double share, Exactness exact = Exactness::kOff) {
  SchedulerOptions options;
  options.exact = exact;
  options.proofs.share = share;
  options.proofs.exact = prompts_are_exact(exact);
  options.cache.memory.budget = kAmple;
  return options;
}

std::string story(char letter, int length) {
  return std::string("<s>system ") + std::string(static_cast<std::size_t>(length), letter);
}

bool nobody() { return false; }

// Two conversations by turns on one slot, so that each turn begins with a restored state.
struct Turns {
  explicit Turns(SchedulerOptions options, engine::FakeOptions fake = one_slot())
      : bench(fake, options) {}

  static engine::FakeOptions one_slot() {
    engine::FakeOptions fake;
    fake.slots = 1;
    return fake;
  }

  // The receipt of the next turn.
  cache::Receipt next() {
    std::string& talk = talks[turn++ % 2];
    talk += " and then?";
    const auto recorder = bench.submit(talk, 4);
    bench.turn_until_ended(*recorder);
    talk += recorder->text_;
    return *recorder->finished_->receipt;
  }
  void rest() {
    bench.scheduler.idle_work().keep_states();
    bench.scheduler.idle_work().prove(nobody);
    ASSERT_EQ(bench.scheduler.check(),
              std::vector<std::string>{});  // PROVER-1: SLOT-1 is among them
  }
  ProofCounts counts() const { return bench.scheduler.status().proofs; }

  Bench bench;
  std::vector<std::string> talks{story('a', 100), story('b', 90)};
  std::size_t turn = 0;
};

class Proofs : public testing::TestWithParam<Exactness> {};
INSTANTIATE_TEST_SUITE_P(Modes, Proofs, testing::ValuesIn(kEachExactness), [](const auto& param) {
  return std::string(exactness_name(param.param));
});

TEST_P(Proofs, RightStatesAreProvedAndReceiptsSaySo) {
  Turns turns(proving(1.0, GetParam()));
  std::string restored;
  for (int i = 0; i < 10; ++i) {
    const cache::Receipt receipt = turns.next();
    if (receipt.source == plan::StartSource::kMemory) restored = receipt.id;
    turns.rest();
  }
  EXPECT_GE(turns.counts().equal, 5U);
  EXPECT_EQ(turns.counts().different, 0U);
  EXPECT_EQ(turns.bench.scheduler.receipts().find(restored, "")->proof, "equal");
}

TEST_P(Proofs, AWrongStateIsFoundAndNothingIsRestoredSince) {
  engine::FakeOptions fake = Turns::one_slot();
  int saves = 0;
  fake.faults = [&](engine::FakeOperation operation) {
    const bool wrong = operation == engine::FakeOperation::kSave && ++saves > 12;
    return wrong ? engine::FakeFault::kWrong : engine::FakeFault::kNone;
  };
  Turns turns(proving(1.0, GetParam()), fake);
  int found_after = 0;
  std::string receipt;
  for (int i = 1; i <= 50 && found_after == 0; ++i) {
    receipt = turns.next().id;
    turns.rest();
    if (turns.counts().different > 0) found_after = i;
  }
  EXPECT_GT(found_after, 0) << "within 50 requests";
  EXPECT_NE(turns.bench.scheduler.status().disproved, "");
  EXPECT_NE(turns.bench.scheduler.receipts().find(receipt, "")->proof, "equal");
  EXPECT_EQ(turns.bench.scheduler.cache_commands().status().resident, 0U);
  for (int i = 0; i < 6; ++i) {
    const cache::Receipt after = turns.next();
    EXPECT_TRUE(after.source == plan::StartSource::kNothing ||
                after.source == plan::StartSource::kLive);
    turns.rest();
  }
}

TEST(Prover, TheShareIsKept) {
  Turns all(proving(1.0));
  Turns quarter(proving(0.25));
  Turns none(proving(0.0));
  for (int i = 0; i < 20; ++i) {
    for (Turns* turns : {&all, &quarter, &none}) {
      (void)turns->next();
      turns->rest();
    }
  }
  const auto made = [](const Turns& turns) { return turns.counts().equal + turns.counts().unmade; };
  EXPECT_EQ(made(none), 0U);
  EXPECT_EQ(made(quarter), made(all) / 4);
}

TEST(Prover, ARequestEndsAProofAtTheNextChunkAndItIsMadeLater) {
  Turns turns(proving(1.0));
  while (turns.next().source != plan::StartSource::kMemory) turns.rest();
  turns.bench.scheduler.idle_work().keep_states();
  int looks = 0;
  turns.bench.scheduler.idle_work().prove([&] { return ++looks > 2; });
  EXPECT_EQ(looks, 3) << "it is asked before each chunk";
  EXPECT_EQ(turns.counts().equal, 0U);
  ASSERT_EQ(turns.bench.scheduler.check(), std::vector<std::string>{});
  turns.rest();
  EXPECT_EQ(turns.counts().equal, 1U);
}

TEST(Prover, WhoIsAlwaysBusyProvesNothing) {
  Turns turns(proving(1.0));
  while (turns.next().source != plan::StartSource::kMemory) turns.rest();
  turns.bench.scheduler.idle_work().keep_states();
  for (int i = 0; i < 5; ++i) {
    int looks = 0;
    turns.bench.scheduler.idle_work().prove([&] { return ++looks > 1; });
  }
  EXPECT_EQ(turns.counts().equal, 0U);
  EXPECT_EQ(turns.counts().unmade, 1U);
}

TEST(Prover, OnlySoManyRestoresWaitForAProof) {
  Turns turns(proving(1.0));
  std::uint64_t restored = 0;
  while (restored < Prover::kNotedMax + 4) {
    restored += turns.next().source == plan::StartSource::kMemory ? 1 : 0;
  }
  turns.rest();
  EXPECT_EQ(turns.counts().equal + turns.counts().unmade, restored);
  EXPECT_LE(turns.counts().equal, Prover::kNotedMax);  // PROVER-2
  EXPECT_GT(turns.counts().equal, 0U);
}

TEST(Prover, ASlotIsTakenOnlyIfMemoryHasWhatItHolds) {
  SchedulerOptions options = proving(1.0);
  Turns turns(options);
  while (turns.next().source != plan::StartSource::kMemory) turns.rest();
  // Without keep_idle_states() the answer is in the slot alone.
  turns.bench.scheduler.idle_work().prove(nobody);
  EXPECT_EQ(turns.counts().equal, 0U);
  EXPECT_EQ(turns.counts().unmade, 1U);
  turns.turn += 1;  // the same conversation again
  EXPECT_EQ(turns.next().source, plan::StartSource::kLive);
}

}  // namespace
}  // namespace holdfast::serve
