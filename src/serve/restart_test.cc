// Servers that come and go over one cache folder, on the fake engine: whatever happened
// to the folder, every answer is that of a server which has seen nothing.
#include <gtest/gtest.h>

#include <random>

#include "serve/testing/scheduler_fixture.h"
#include "tier/disk_store.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::serve {
namespace {

const std::string kSystem = "<s>system: you are a very patient and exact machine</s>";
constexpr ByteCount kAmple = 64 << 20;

std::string asking(const std::string& text) { return "<s>user: " + text + "</s><s>"; }

std::string long_text(int words, unsigned seed = 1) {
  std::minstd_rand random(seed);
  std::string text;
  for (int i = 0; i < words; ++i) text += std::to_string(random() % 1000) + " ";
  return text;
}

struct Settings {
  engine::FakeOptions fake;
  ByteCount memory = kAmple;
  ByteCount disk = kAmple;
  Exactness exact = Exactness::kOff;
  std::chrono::milliseconds chunk_takes{0};  // to read
  double bytes_per_ms = 0.3e6;               // of the disk, as it is believed to be
};

// A server's life. Its thread below memory is turned by hand.
class Process {
 public:
  Process(tier::SimulatedFiles& files, const Settings& settings)
      : known_(std::make_shared<tier::StoredDepths>()), store_(open(files, settings)) {
    const bool writes = store_->role() == tier::StoreRole::kWriter;  // a reader knows no ends
    lower_.emplace(
        *store_, writes ? known_ : nullptr, clock_,
        cache::DiskTierOptions{.blob_tokens = 64, .bytes_per_ms = settings.bytes_per_ms});
    SchedulerOptions options;
    options.exact = settings.exact;
    options.cache.memory.budget = settings.memory;
    engine::FakeOptions fake = settings.fake;
    fake.faults = [this, takes = settings.chunk_takes](engine::FakeOperation operation) {
      if (operation == engine::FakeOperation::kPrefill) bench_->clock.advance(takes);
      return engine::FakeFault::kNone;
    };
    bench_.emplace(fake, options, SchedulerParts{.lower = &*lower_});
    cold_ = settings.fake;
  }
  // As a server that is told to stop.
  void end() {
    bench_->scheduler.idle_work().keep_states();
    work();
  }
  void work() {
    while (lower_->work()) {
    }
    EXPECT_EQ(lower_->check(), std::vector<std::string>{});
  }

  cache::Receipt run(const std::string& prompt, TokenPos max_tokens = 20) {
    const auto recorder = bench_->submit(prompt, max_tokens);
    for (int i = 0; i < 10000 && !recorder->ended(); ++i) {
      bench_->run_round();
      if (i % rounds_to_work == 0) lower_->work();
    }
    EXPECT_TRUE(recorder->finished_.has_value());
    if (!recorder->finished_) return {};
    EXPECT_EQ(recorder->text_, cold_answer(cold_, prompt, max_tokens));
    answer = recorder->text_;
    const cache::Receipt receipt = *recorder->finished_->receipt;
    EXPECT_EQ(cache::check_receipt(receipt), std::vector<std::string>{});
    EXPECT_EQ(receipt.restored + receipt.recomputed, receipt.prompt_tokens);
    return receipt;
  }

  [[nodiscard]] Bench& bench() { return *bench_; }
  [[nodiscard]] cache::DiskTier& lower() { return *lower_; }
  [[nodiscard]] tier::DiskStore& store() { return *store_; }
  std::string answer;
  int rounds_to_work = 1;  // below memory something is done once in this many rounds

 private:
  std::unique_ptr<tier::DiskStore> open(tier::SimulatedFiles& files, const Settings& settings) {
    tier::DiskOptions options;
    options.budget = settings.disk;
    options.stored_depths = known_;
    auto opened = tier::DiskStore::open(files, options, clock_.unix_ms());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return std::move(*opened);
  }

  ManualClock clock_;
  std::shared_ptr<tier::StoredDepths> known_;
  std::unique_ptr<tier::DiskStore> store_;
  std::optional<cache::DiskTier> lower_;
  std::optional<Bench> bench_;
  engine::FakeOptions cold_;
};

class Restart : public ::testing::TestWithParam<std::tuple<engine::FakeKind, Exactness>> {
 protected:
  static Settings settings() {
    Settings settings;
    settings.fake.kind = std::get<0>(GetParam());
    settings.fake.slots = 1;
    settings.fake.context_tokens = 4096;
    settings.exact = std::get<1>(GetParam());
    return settings;
  }
  [[nodiscard]] static bool attention() {
    return settings().fake.kind == engine::FakeKind::kAttention;
  }

  // A server that answers this and stops.
  void live_once(const std::string& prompt) {
    Process process(files_, settings());
    process.run(prompt);
    process.end();
  }

  tier::SimulatedFiles files_;
};

TEST_P(Restart, TheFirstRequestReusesWhatItWouldHaveReusedWithout) {
  const std::string first = kSystem + asking(long_text(200));
  std::string second;
  TokenPos without = 0;
  {
    tier::SimulatedFiles apart;
    Process process(apart, settings());
    process.run(first);
    second = first + process.answer + "</s>" + asking("and now?");
    process.run("<s>something else</s><s>");
    without = process.run(second).restored;
  }
  {
    Process process(files_, settings());
    process.run(first);
    process.end();
  }
  Process process(files_, settings());
  const cache::Receipt receipt = process.run(second);
  EXPECT_EQ(receipt.source, plan::StartSource::kMemory);
  EXPECT_GT(receipt.fetched, 0);
  EXPECT_GT(receipt.fetched_bytes, 0U);
  EXPECT_GT(receipt.restored, 200);
  // Rows alone say nothing of a place off the grid.
  const TokenPos grid_step = attention() ? 16 : 0;
  EXPECT_GE(receipt.restored, without - grid_step);
  EXPECT_EQ(process.bench().scheduler.cache_commands().status().fetches, 1U);
}

TEST_P(Restart, APromptThatPartsFindsTheNearestPlace) {
  const std::string text = long_text(650);
  {
    Process process(files_, settings());
    process.run(kSystem + asking(text));
    process.end();
  }
  Process process(files_, settings());
  const cache::Receipt receipt =
      process.run(kSystem + asking(text.substr(0, text.size() / 2) + "!"));
  EXPECT_GT(receipt.fetched, 0);
  EXPECT_GT(receipt.restored, 0);
}

// What memory has is not looked for below: the request begins although nobody works there.
// Not where the layout of a window shows in the last bits.
TEST_P(Restart, TheSameRequestAgainReadsNothing) {
  const std::string prompt = kSystem + asking(long_text(200));
  live_once(prompt);
  Process process(files_, settings());
  const cache::Receipt receipt = process.run(prompt);
  EXPECT_GT(receipt.fetched, 0);
  const bool window = settings().fake.kind == engine::FakeKind::kWindowed;
  const bool all = !(window && prompts_are_exact(settings().exact));
  EXPECT_EQ(receipt.restored == receipt.prompt_tokens, all) << receipt.restored;
}

TEST_P(Restart, WhatMemoryHasIsNotAskedFor) {
  Process process(files_, settings());
  const std::string prompt = kSystem + asking(long_text(100));
  process.run(prompt);
  process.end();
  const auto recorder =
      process.bench().submit(prompt + process.answer + "</s>" + asking("and now?"));
  process.bench().run_round();
  EXPECT_TRUE(recorder->started_);
}

// The scheduler rests while the tier below works on.
TEST_P(Restart, WhoLooksInSeesTheTierBelowAsItIs) {
  Process process(files_, settings());
  process.run(kSystem + asking(long_text(100)));
  const auto below = [&] { return *process.bench().scheduler.cache_commands().status().lower; };
  EXPECT_EQ(below().paths_waiting, process.lower().status().paths_waiting);
  while (below().paths_waiting > 0) {
    ASSERT_TRUE(process.lower().work());
    EXPECT_EQ(below().store.stored, process.store().stats().stored);
  }
  EXPECT_GT(below().store.stored, 0U);
}

TEST_P(Restart, WhatMemoryHadNoRoomForComesBack) {
  const std::string first = kSystem + asking(long_text(60, 1));
  Settings tight = settings();
  {
    tier::SimulatedFiles apart;
    Process process(apart, settings());
    process.run(first);
    process.end();
    tight.memory = 4 * process.bench().scheduler.cache_commands().status().resident;
  }
  Process process(files_, tight);
  const auto prompt = [](unsigned seed) { return kSystem + asking(long_text(60, seed)); };
  for (unsigned seed = 1; seed < 24; ++seed) {
    process.run(prompt(seed));
    process.end();
  }
  for (unsigned seed = 1; seed < 24; ++seed) {
    EXPECT_GT(process.run(prompt(seed) + "x").restored, 100);
    process.end();
  }
  // Of a recurrent state of 8 bytes memory holds all that matters.
  if (settings().fake.kind == engine::FakeKind::kRecurrent) return;
  EXPECT_GT(process.bench().scheduler.cache_commands().status().fetches, 10U);
}

TEST_P(Restart, DamagedBlobsAreMissesAndInQuarantine) {
  const std::string prompt = kSystem + asking(long_text(200));
  live_once(prompt);
  std::size_t damaged = 0;
  for (const std::string& path : files_.file_paths()) {
    if (!path.starts_with("blobs/") || damaged == 3) continue;
    auto bytes = files_.bytes(path);
    bytes[bytes.size() / 2] ^= std::byte{1};
    files_.overwrite(path, bytes);
    ++damaged;
  }
  Process process(files_, settings());
  for (int i = 0; i < 3; ++i) process.run(prompt + std::string(static_cast<std::size_t>(i), 'x'));
  process.end();
  EXPECT_GT(process.store().stats().quarantined, 0U);
  EXPECT_EQ(process.store().check(), std::vector<std::string>{});
}

TEST_P(Restart, AFullDiskCostsTimeOnly) {
  const std::string prompt = kSystem + asking(long_text(200));
  {
    Process process(files_, settings());
    files_.set_capacity(200);
    process.run(prompt);
    process.end();
    EXPECT_GT(process.lower().status().store.failed + process.lower().status().store.declined, 0U);
    process.run(prompt + "x");
  }
  files_.set_capacity(kAmple);
  Process process(files_, settings());
  process.run(prompt);
  process.end();
  EXPECT_GT(process.store().stats().blobs(), 0U);
}

TEST_P(Restart, AStoreThatNeverAnswersIsWaitedForOnlyALittle) {
  const std::string prompt = kSystem + asking(long_text(200));
  live_once(prompt);
  Process process(files_, settings());
  Bench& bench = process.bench();
  const auto recorder = bench.submit(prompt);
  for (int i = 0; i < 10; ++i) bench.run_round();  // nobody works below
  EXPECT_FALSE(recorder->started_);
  bench.clock.advance(std::chrono::minutes(1));
  bench.turn_until_ended(*recorder);
  EXPECT_EQ(recorder->text_, cold_answer(settings().fake, prompt));
}

TEST_P(Restart, ACancelledRequestLeavesNothingBehind) {
  const std::string prompt = kSystem + asking(long_text(200));
  live_once(prompt);
  Process process(files_, settings());
  Bench& bench = process.bench();
  for (int stage = 0; stage < 3; ++stage) {
    auto request = bench.request(prompt);
    const std::string id = request.id;
    const auto recorder = bench.submit(std::move(request));
    for (int i = 0; i < stage; ++i) {
      bench.run_round();
      process.lower().work();
    }
    bench.scheduler.cancel(id);
    bench.run_round();
    EXPECT_TRUE(recorder->failed_ || recorder->finished_);
  }
  process.work();
  EXPECT_GT(process.run(prompt).restored, 100);
}

TEST_P(Restart, OthersDoNotOvertakeOnTheLastSlot) {
  const std::string prompt = kSystem + asking(long_text(200));
  live_once(prompt);
  Process process(files_, settings());
  Bench& bench = process.bench();
  const auto first = bench.submit(prompt);
  bench.run_round();
  const auto second = bench.submit("<s>short</s><s>");
  for (int i = 0; i < 5; ++i) bench.run_round();
  EXPECT_FALSE(second->started_);
  process.work();
  for (int i = 0; i < 10000 && !second->ended(); ++i) {
    bench.run_round();
    process.lower().work();
    EXPECT_TRUE(first->started_ || !second->started_);
  }
  EXPECT_GT(first->finished_->timings.cached_tokens, 100);
}

TEST_P(Restart, ClearingClearsTheFolderToo) {
  Process process(files_, settings());
  const std::string prompt = kSystem + asking(long_text(100));
  process.run(prompt);
  process.end();
  EXPECT_GT(process.store().stats().blobs(), 0U);
  const auto freed = process.bench().clear_cache();
  process.bench().run_round();
  EXPECT_FALSE(freed->has_value()) << "not before the folder is empty";
  process.work();
  EXPECT_TRUE(freed->has_value());
  EXPECT_EQ(process.store().stats().blobs(), 0U);
  EXPECT_EQ(process.run(prompt).restored, 0);
}

TEST_P(Restart, ASecondServerReadsWhatTheFirstWrites) {
  Process writer(files_, settings());
  const std::string prompt = kSystem + asking(long_text(200));
  writer.run(prompt);
  writer.end();
  Process reader(files_, settings());
  EXPECT_EQ(reader.store().role(), tier::StoreRole::kReader);
  const cache::Receipt receipt = reader.run(prompt);
  EXPECT_GT(receipt.fetched, 0);
  EXPECT_GT(receipt.restored, 100);
  reader.end();
  EXPECT_EQ(reader.lower().status().store.stored, 0U);
}

// Lives that end in a crash, on disks that fail, under tight budgets.
TEST_P(Restart, AnyLifeGivesTheRightAnswers) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::minstd_rand random(seed);
    tier::SimulatedFiles files(seed);
    Settings settings = Restart::settings();
    settings.fake.slots = 1 + static_cast<int>(random() % 3);
    settings.memory = std::array<ByteCount, 3>{8 << 10, 64 << 10, kAmple}[random() % 3];
    settings.disk = std::array<ByteCount, 3>{16 << 10, 128 << 10, kAmple}[random() % 3];
    settings.chunk_takes = std::chrono::milliseconds(random() % 2 * 16);
    settings.bytes_per_ms = 20.0;
    std::vector<std::string> prompts = {kSystem + asking(long_text(50, seed))};
    for (int life = 0; life < 4; ++life) {
      Process process(files, settings);
      const bool faulty = random() % 2 == 0;
      for (int i = 0; i < 8; ++i) {
        std::string prompt = prompts[random() % prompts.size()];
        if (random() % 3 == 0) prompt = prompt.substr(0, prompt.size() / 2) + asking("instead");
        if (faulty) files.fail_at(files.calls() + 1 + random() % 40, random() % 2 ? EIO : ENOSPC);
        process.run(prompt, 12);
        files.fail_never();
        prompts.push_back(prompt + process.answer + "</s>" + asking(std::to_string(random() % 50)));
        if (prompts.back().size() > 2500) prompts.pop_back();
        if (random() % 2 == 0) process.bench().scheduler.idle_work().keep_states();
        for (unsigned k = random() % 12; k > 0; --k) process.lower().work();
      }
      if (random() % 2 == 0) process.end();
      if (random() % 2 == 0) files.restart();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Restart,
    ::testing::Combine(::testing::Values(engine::FakeKind::kAttention, engine::FakeKind::kWindowed,
                                         engine::FakeKind::kRecurrent, engine::FakeKind::kHybrid),
                       ::testing::ValuesIn(kEachExactness)));

}  // namespace
}  // namespace holdfast::serve
