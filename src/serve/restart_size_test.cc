// Servers that come and go over one cache folder with states as large, beside their rows, as those
// of real models: what fits the disk comes back, and what does not costs others nothing.
#include <gtest/gtest.h>

#include <random>

#include "serve/testing/scheduler_fixture.h"
#include "tier/disk_store.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::serve {
namespace {

constexpr ByteCount kAmple = 64 << 20;
const std::string kSystem = "<s>system: you are a very patient and exact machine</s>";

// What a snapshot weighs in rows; a quarter of the real one's, as conversations are a quarter as
// long.
struct Size {
  const char* name;
  ByteCount rows_per_snapshot;
};
constexpr Size kSizes[] = {{"0.8B", 411}, {"9B", 400}, {"27B", 600}, {"30B-A3B", 2000}};
constexpr int kWords = 560;  // about 2,200 tokens

std::string words(int count, unsigned seed) {
  std::minstd_rand random(seed);
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(random() % 1000) + " ";
  return text;
}

// A server's life. Its thread below memory is turned by hand.
class Process {
 public:
  Process(tier::SimulatedFiles& files, const Size& size, ByteCount disk,
          std::chrono::seconds began) {
    clock_.advance(began);
    known_ = std::make_shared<tier::StoredDepths>();
    tier::DiskOptions options;
    options.budget = disk;
    options.stored_depths = known_;
    auto opened = tier::DiskStore::open(files, options, clock_.unix_ms());
    EXPECT_TRUE(opened.ok());
    store_ = std::move(*opened);
    lower_.emplace(*store_, known_, clock_, cache::DiskTierOptions{.bytes_per_ms = 1e9});
    engine::FakeOptions fake;
    fake.slots = 1;
    fake.context_tokens = 8192;
    fake.snapshot_bytes = 8 * size.rows_per_snapshot;
    SchedulerOptions scheduling;
    scheduling.cache.memory.budget = kAmple;
    bench_.emplace(fake, scheduling, SchedulerParts{.lower = &*lower_});
  }

  cache::Receipt run(const std::string& prompt) {
    clock_.advance(std::chrono::seconds(1));
    bench_->clock.advance(std::chrono::seconds(1));
    const auto recorder = bench_->submit(prompt, 20);
    for (int i = 0; i < 20000 && !recorder->ended(); ++i) {
      bench_->run_round();
      lower_->work();
    }
    EXPECT_TRUE(recorder->finished_.has_value());
    answer = recorder->text_;
    return *recorder->finished_->receipt;
  }
  // Until nothing waits.
  void rest() {
    bench_->scheduler.idle_work().keep_states();
    while (lower_->work()) {
    }
    EXPECT_EQ(store_->check(), std::vector<std::string>{});
  }
  [[nodiscard]] tier::DiskStore& store() { return *store_; }

  std::string answer;

 private:
  class UnixClock final : public env::Clock {
   public:
    [[nodiscard]] TimePoint now() const override { return clock.now(); }
    [[nodiscard]] std::int64_t unix_ms() const override {
      return std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch())
          .count();
    }
    void advance(std::chrono::milliseconds by) { clock.advance(by); }
    ManualClock clock;
  };
  UnixClock clock_;
  std::shared_ptr<tier::StoredDepths> known_;
  std::unique_ptr<tier::DiskStore> store_;
  std::optional<cache::DiskTier> lower_;
  std::optional<Bench> bench_;
};

// Conversations by turns, each as the client has it.
class Talks {
 public:
  Talks(int count, int turns) : turns_(turns) {
    for (int i = 0; i < count; ++i) {
      texts_.push_back(kSystem + "<s>user: " + words(kWords, 100U + static_cast<unsigned>(i)) +
                       "</s><s>");
    }
  }
  void take_place(Process& process) {
    for (int turn = 0; turn < turns_; ++turn) {
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        process.run(texts_[i]);
        texts_[i] += process.answer + "</s><s>user: and then, " + std::to_string(turn) + "?</s><s>";
        process.rest();
      }
    }
  }
  // What the next turn of a conversation reuses, in per cent of what was known of it.
  [[nodiscard]] double next_turn(Process& process, std::size_t talk) const {
    const cache::Receipt receipt = process.run(texts_[talk]);
    const auto new_tokens = 30.0;  // the question, and the header
    return 100.0 * receipt.restored / (receipt.prompt_tokens - new_tokens);
  }
  [[nodiscard]] std::size_t count() const { return texts_.size(); }

 private:
  int turns_;
  std::vector<std::string> texts_;
};

class RestartAtSize : public ::testing::TestWithParam<Size> {
 protected:
  static constexpr std::chrono::seconds kFirst{1000};
  static constexpr std::chrono::seconds kSecond{5000};

  // What the conversations of a server weigh below memory that need not choose.
  static ByteCount core_of_one() {
    constexpr ByteCount kRow = 8 + 9;    // with what headers add to each
    constexpr ByteCount kBeside = 1500;  // a place's header, and logits
    return 2400 * kRow + 4 * (8 * GetParam().rows_per_snapshot + kBeside);
  }
  tier::SimulatedFiles files_;
};

// With room for what the turns after the restart add.
TEST_P(RestartAtSize, WhatFitsTheDiskComesBack) {
  Talks talks(5, 2);
  {
    Process process(files_, GetParam(), 6 * core_of_one(), kFirst);
    talks.take_place(process);
  }
  Process process(files_, GetParam(), 6 * core_of_one(), kSecond);
  for (std::size_t i = 0; i < talks.count(); ++i) {
    EXPECT_GE(talks.next_turn(process, i), 99.0) << GetParam().name << ", conversation " << i;
  }
}

// Three times as many as fit, one a second: those that were used last come back whole. They save
// nearly as much per byte as each other, so that a fraction of a token would decide, were it let.
TEST_P(RestartAtSize, WhatDoesNotFitLeavesTheLatestWhole) {
  Talks talks(9, 2);
  {
    Process process(files_, GetParam(), 3 * core_of_one(), kFirst);
    talks.take_place(process);
    EXPECT_LE(process.store().stats().bytes(), 3 * core_of_one());
  }
  Process process(files_, GetParam(), 3 * core_of_one(), kSecond);
  for (std::size_t i = talks.count() - 2; i < talks.count(); ++i) {
    EXPECT_GE(talks.next_turn(process, i), 99.0) << GetParam().name << ", conversation " << i;
  }
}

// Not even one conversation fits: its beginning does.
TEST_P(RestartAtSize, AConversationLargerThanTheDiskKeepsItsBeginning) {
  const ByteCount disk = core_of_one() * 2 / 3;
  Talks talks(1, 2);
  {
    Process process(files_, GetParam(), disk, kFirst);
    talks.take_place(process);
  }
  Process process(files_, GetParam(), disk, kSecond);
  const double reused = talks.next_turn(process, 0);
  EXPECT_GT(reused, 0.0) << GetParam().name;
  EXPECT_LT(reused, 99.0) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(Sizes, RestartAtSize, ::testing::ValuesIn(kSizes), [](const auto& size) {
  std::string name = size.param.name;
  std::erase_if(name, [](char c) { return c == '.' || c == '-'; });
  return "Of" + name;
});

}  // namespace
}  // namespace holdfast::serve
