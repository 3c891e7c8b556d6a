// Servers of different facts over one cache folder, on the fake engine: what one of them cannot use
// is named in its receipts, and nobody learns of another tenant's.
#include <gtest/gtest.h>

#include "serve/testing/scheduler_fixture.h"
#include "tier/disk_store.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::serve {
namespace {

const std::string kSystem = "<s>system: you are a very patient and exact machine</s>";

std::string asking(const std::string& what, int words) {
  std::string text = kSystem + "<s>user: ";
  for (int i = 0; i < words; ++i) text += what + std::to_string(i) + " ";
  return text + "</s><s>";
}

cache::Fingerprint facts_of(const std::string& engine) {
  return cache::Fingerprint().add("engine", engine);
}

// A server's life. Its thread below memory is turned by hand.
class Process {
 public:
  Process(tier::SimulatedFiles& files, const std::string& engine, Exactness exact = Exactness::kOff,
          ByteCount memory = 64 << 20)
      : facts_(facts_of(engine)),
        known_(std::make_shared<tier::StoredDepths>()),
        store_(std::move(
                   tier::DiskStore::open(files, {.budget = 64 << 20, .stored_depths = known_}, 0))
                   .value()),
        lower_(*store_, known_, clock_, {.blob_tokens = 64}) {
    lower_.set_foreign(
        cache::ForeignStates({{facts_of("old"), "another engine (old, here " + engine + ")", "",
                               prompts_are_exact(exact)}}));
    SchedulerOptions options;
    options.exact = exact;
    options.cache.memory.budget = memory;
    options.cache.names_foreign = engine != "old";
    engine::FakeOptions fake;
    fake.slots = 1;
    fake.context_tokens = 4096;
    bench_.emplace(fake, options, SchedulerParts{.lower = &lower_});
  }

  cache::Receipt run(const std::string& prompt, const std::string& tenant = "", bool reuse = true) {
    GenerateRequest request = bench_->request(prompt, 4);
    request.tenant = tenant;
    request.space = facts_.space(tenant);
    request.reuse = reuse;
    const auto client = bench_->submit(std::move(request));
    for (int i = 0; i < 10000 && !client->ended(); ++i) {
      bench_->run_round();
      lower_.work();
    }
    EXPECT_TRUE(client->finished_.has_value());
    const cache::Receipt receipt =
        client->finished_ ? *client->finished_->receipt : cache::Receipt{};
    EXPECT_EQ(cache::check_receipt(receipt), std::vector<std::string>{});
    return receipt;
  }
  void end() {
    bench_->scheduler.idle_work().keep_states();
    while (lower_.work()) {
    }
  }
  void clear() {
    (void)bench_->clear_cache();
    bench_->run_round();
    while (lower_.work()) {
    }
  }

 private:
  const cache::Fingerprint facts_;
  ManualClock clock_;
  std::shared_ptr<tier::StoredDepths> known_;
  std::unique_ptr<tier::DiskStore> store_;
  cache::DiskTier lower_;
  std::optional<Bench> bench_;
};

class Foreign : public ::testing::TestWithParam<Exactness> {
 protected:
  // What a server of the engine before has left.
  void left(const std::string& prompt, const std::string& tenant = "") {
    Process process(files_, "old", GetParam());
    process.run(prompt, tenant);
    process.end();
  }

  const std::string cats_ = asking("cat", 80);
  const std::string dogs_ = asking("dog", 80);
  tier::SimulatedFiles files_;
};

TEST_P(Foreign, IsTheReasonOfTheFirstPromptThatAnotherEngineHadRead) {
  left(cats_);
  Process process(files_, "new", GetParam());
  const cache::Receipt receipt = process.run(cats_);
  EXPECT_EQ(receipt.restored, 0);
  EXPECT_EQ(receipt.missing.why, cache::MissReason::kForeign);
  EXPECT_EQ(receipt.missing.made_by, "another engine (old, here new)");
  EXPECT_GT(receipt.missing.position, receipt.prompt_tokens / 2);
  EXPECT_LT(receipt.missing.position, receipt.prompt_tokens);
}

// It agrees with the first one of this life in its opening, which is no reason.
TEST_P(Foreign, IsTheReasonOfTheSecondOneTooAndNotAChunk) {
  left(cats_);
  left(dogs_);
  Process process(files_, "new", GetParam());
  process.run(dogs_);
  const cache::Receipt receipt = process.run(cats_);
  EXPECT_GT(receipt.matched, 0);
  EXPECT_EQ(receipt.missing.why, cache::MissReason::kForeign);
}

TEST_P(Foreign, IsNoReasonForWhatNobodyHasRead) {
  left(cats_);
  Process process(files_, "new", GetParam());
  EXPECT_EQ(process.run(dogs_).missing.why, cache::MissReason::kNone);
}

TEST_P(Foreign, IsNoReasonOnceThisEngineHasReadIt) {
  left(cats_);
  Process process(files_, "new", GetParam());
  process.run(cats_);
  EXPECT_NE(process.run(cats_).missing.why, cache::MissReason::kForeign);
  EXPECT_NE(process.run(cats_ + "and more</s><s>").missing.why, cache::MissReason::kForeign);
}

// Of two reasons the one for more tokens is named.
TEST_P(Foreign, IsNotNamedWhereThisServerLostMore) {
  const std::string longer = cats_ + asking("bird", 30);
  left(longer);
  // So little memory that the second prompt takes the first one's place.
  Process process(files_, "new", GetParam(), 6 << 10);
  process.run(cats_);
  process.run(dogs_);
  const cache::Receipt receipt = process.run(longer);
  EXPECT_LT(receipt.restored, receipt.matched / 2);
  EXPECT_EQ(receipt.missing.why, cache::MissReason::kEvicted)
      << cache::miss_reason_name(receipt.missing.why);
  // A larger memory would have held it: there the first prompt is still here.
  const ByteCount kept_with = receipt.missing.kept_with;
  EXPECT_GT(kept_with, ByteCount{6 << 10});
  Process larger(files_, "new", GetParam(), 2 * kept_with);
  larger.run(cats_);
  larger.run(dogs_);
  EXPECT_GT(larger.run(longer).restored, receipt.restored);
}

TEST_P(Foreign, IsNotSaidOfOtherTenants) {
  left(cats_, "somebody");
  Process process(files_, "new", GetParam());
  EXPECT_EQ(process.run(cats_).missing.why, cache::MissReason::kNone);
  EXPECT_EQ(process.run(cats_, "anybody").missing.why, cache::MissReason::kNone);
  EXPECT_EQ(process.run(cats_, "somebody").missing.why, cache::MissReason::kForeign);
}

TEST_P(Foreign, IsNoReasonWhereNoReuseIsWanted) {
  left(cats_);
  Process process(files_, "new", GetParam());
  EXPECT_EQ(process.run(cats_, "", false).missing.why, cache::MissReason::kNone);
}

TEST_P(Foreign, IsNoReasonOnceTheFolderIsCleared) {
  left(cats_);
  Process process(files_, "new", GetParam());
  process.clear();
  EXPECT_EQ(process.run(cats_).missing.why, cache::MissReason::kNone);
}

TEST_P(Foreign, IsNoReasonForTheEngineThatMadeIt) {
  left(cats_);
  Process process(files_, "old", GetParam());
  const cache::Receipt receipt = process.run(cats_);
  EXPECT_GT(receipt.fetched, 0);
  EXPECT_NE(receipt.missing.why, cache::MissReason::kForeign);
}

INSTANTIATE_TEST_SUITE_P(Modes, Foreign, ::testing::ValuesIn(kEachExactness),
                         [](const auto& mode) { return std::string(exactness_name(mode.param)); });

}  // namespace
}  // namespace holdfast::serve
