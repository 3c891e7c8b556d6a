// A day of agents in seconds: scheduler, tree, memory and disk on the fake engine, under
// budgets that are far too small, with restarts and crashes. Every answer is compared with
// that of an engine that computes the whole prompt; budgets are looked at after every turn.
//
// HOLDFAST_TRACE=agents.jsonl runs a day of real sessions (minutes).
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <random>

#include "serve/testing/day_trace.h"
#include "serve/testing/scheduler_fixture.h"
#include "tier/disk_store.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::serve {
namespace {

class DayClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint{} + passed_; }
  [[nodiscard]] std::int64_t unix_ms() const override {
    return 1'700'000'000'000 + passed_.count();
  }
  void set(double seconds) {
    passed_ =
        std::max(passed_, std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds)));
  }

 private:
  std::chrono::milliseconds passed_{0};
};

struct Settings {
  engine::FakeOptions fake;
  ByteCount memory = 0;
  ByteCount disk = 0;
  std::uint64_t ghosts = 5'000;
};

// A server's life over the folder. Its thread below memory is turned by hand.
class Life {
 public:
  Life(tier::SimulatedFiles& files, const DayClock& clock, const Settings& settings)
      : settings_(settings), known_(std::make_shared<tier::StoredDepths>()) {
    tier::DiskOptions options;
    options.budget = settings.disk;
    options.stored_depths = known_;
    auto opened = tier::DiskStore::open(files, options, clock.unix_ms());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
    lower_.emplace(*store_, known_, clock, cache::DiskTierOptions{.blob_tokens = 64});
    SchedulerOptions scheduling;
    scheduling.cache.memory.budget = settings.memory;
    scheduling.cache.memory.ghost_tokens_max = settings.ghosts;
    bench.emplace(settings.fake, scheduling, SchedulerParts{.lower = &*lower_});
  }

  void run_round() {
    bench->scheduler.run_round();
    lower_->work();
    const cache::CacheStatus status = bench->scheduler.cache_commands().status();
    ASSERT_LE(status.peak, settings_.memory);
    ASSERT_LE(store_->stats().bytes(), settings_.disk);
    if (++turns_ % 32 == 0) check();
  }
  void rest() {
    bench->scheduler.idle_work().keep_states();
    while (lower_->work()) ASSERT_LE(store_->stats().bytes(), settings_.disk);
  }
  void check() {
    EXPECT_EQ(bench->scheduler.check(), std::vector<std::string>{});
    EXPECT_EQ(lower_->check(), std::vector<std::string>{});
  }
  // Between requests: nothing is held for nobody, and what is remembered has its limits.
  void check_at_rest() {
    check();
    const cache::CacheStatus status = bench->scheduler.cache_commands().status();
    EXPECT_EQ(status.pinned, 0U);
    EXPECT_LE(status.ghost_tokens, settings_.ghosts);
    EXPECT_EQ(store_->check(), std::vector<std::string>{});
  }
  [[nodiscard]] const tier::StoreStats& stored() const { return store_->stats(); }

 private:
  const Settings settings_;
  std::shared_ptr<tier::StoredDepths> known_;
  std::unique_ptr<tier::DiskStore> store_;
  std::optional<cache::DiskTier> lower_;
  std::uint64_t turns_ = 0;

 public:
  std::optional<Bench> bench;  // after what it works on
};

struct Sums {
  std::uint64_t lives = 0, crashes = 0, requests = 0, too_long = 0, prompt = 0, restored = 0,
                lower = 0, evicted = 0, dropped = 0, fetches = 0, nodes_most = 0;

  void add(const cache::CacheStatus& status, const tier::StoreStats& store) {
    prompt += status.prompt_tokens;
    restored += status.restored_tokens;
    lower += status.restored_lower_tokens;
    evicted += status.evicted_bytes;
    fetches += status.fetches;
    dropped += store.dropped;
    nodes_most = std::max(nodes_most, status.nodes);
  }
};

class DayTest {
 public:
  DayTest(Day day, Settings settings, unsigned seed)
      : day_(std::move(day)),
        settings_(std::move(settings)),
        random_(seed),
        files_(seed),
        clients_(day_),
        cold_(settings_.fake) {}

  Sums run() {
    start();
    for (std::size_t at = 0; at < day_.requests.size() && !::testing::Test::HasFatalFailure();) {
      at += serve_group(at);
      if (random_() % kRestEvery == 0) life_->rest();
      if (random_() % kRestartEvery == 0) restart();
    }
    life_->rest();
    life_->check_at_rest();
    sums_.add(life_->bench->scheduler.cache_commands().status(), life_->stored());
    return sums_;
  }

 private:
  static constexpr unsigned kRestEvery = 3;
  static constexpr unsigned kRestartEvery = 60;
  static constexpr unsigned kCrashEvery = 60;

  void start() {
    life_ = std::make_unique<Life>(files_, clock_, settings_);
    ++sums_.lives;
  }
  void stop() {
    sums_.add(life_->bench->scheduler.cache_commands().status(), life_->stored());
    life_.reset();
  }
  void restart() {
    life_->rest();
    life_->check_at_rest();
    stop();
    start();
  }
  void crash() {
    files_.lose_power_at(files_.calls() + 1 + random_() % 3);
    life_->rest();
    stop();
    files_.restart();
    ++sums_.crashes;
    start();
  }

  // Requests of several sessions that come in the same moment.
  std::size_t serve_group(std::size_t at) {
    std::size_t end = at + 1;
    const auto known = [&](std::size_t session) {
      return std::any_of(&day_.requests[at], &day_.requests[end],
                         [&](const DayRequest& one) { return one.session == session; });
    };
    while (end < day_.requests.size() && end - at < 3 && !known(day_.requests[end].session) &&
           day_.requests[end].at_s < day_.requests[at].at_s + 10) {
      ++end;
    }
    const auto passed = day_.requests[at].at_s - env::ms_between({}, clock_.now()) / 1000;
    life_->bench->clock.advance(
        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * std::max(passed, 0.0))));
    clock_.set(day_.requests[at].at_s);
    std::vector<Tokens> prompts;
    for (std::size_t i = at; i < end; ++i) prompts.push_back(clients_.prompt(day_.requests[i]));
    if (random_() % kCrashEvery == 0) {
      submit(at, prompts);
      for (unsigned rounds = random_() % 40; rounds > 0; --rounds) life_->run_round();
      crash();
    }
    answer(at, prompts);
    return end - at;
  }

  std::vector<std::shared_ptr<Recorder>> submit(std::size_t at,
                                                const std::vector<Tokens>& prompts) {
    std::vector<std::shared_ptr<Recorder>> recorders;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      recorders.push_back(nullptr);
      if (length_of(prompts[i]) + 16 > settings_.fake.context_tokens) continue;
      recorders.back() =
          life_->bench->submit(made(*life_->bench, prompts[i], day_.requests[at + i]));
    }
    return recorders;
  }

  static GenerateRequest made(Bench& bench, const Tokens& prompt, const DayRequest& about) {
    GenerateRequest request = bench.request("", about.answer_tokens);
    request.prompt = prompt;
    return request;
  }

  void answer(std::size_t at, const std::vector<Tokens>& prompts) {
    const auto recorders = submit(at, prompts);
    const auto open = [](const auto& recorder) { return recorder && !recorder->ended(); };
    for (int turns = 0; std::ranges::any_of(recorders, open); ++turns) {
      ASSERT_LT(turns, 100'000);
      life_->run_round();
    }
    for (std::size_t i = 0; i < recorders.size(); ++i) {
      ++(recorders[i] ? sums_.requests : sums_.too_long);
      if (!recorders[i]) continue;
      ASSERT_TRUE(recorders[i]->finished_.has_value());
      const DayRequest& request = day_.requests[at + i];
      ASSERT_EQ(recorders[i]->text_, cold_answer(prompts[i], request));
      clients_.answered(request, cold_.text.tokenize(recorders[i]->text_, false, false));
    }
  }

  std::string cold_answer(const Tokens& prompt, const DayRequest& about) {
    GenerateRequest request = made(cold_, prompt, about);
    request.reuse = false;
    const auto recorder = cold_.submit(std::move(request));
    while (!recorder->ended()) cold_.scheduler.run_round();
    EXPECT_EQ(recorder->finished_->receipt->restored, 0);
    return recorder->text_;
  }

  const Day day_;
  const Settings settings_;
  std::minstd_rand random_;
  tier::SimulatedFiles files_;
  DayClock clock_;
  DayClients clients_;
  Bench cold_;
  std::unique_ptr<Life> life_;
  Sums sums_;
};

class ADay : public ::testing::TestWithParam<engine::FakeKind> {};

TEST_P(ADay, OfAgents) {
  const char* const path = std::getenv("HOLDFAST_TRACE");
  Settings settings;
  settings.fake.kind = GetParam();
  settings.fake.slots = 3;
  settings.fake.context_tokens = path != nullptr ? 20'000 : 4096;
  settings.memory = path != nullptr ? 256 << 10 : 20 << 10;
  settings.disk = path != nullptr ? 8 << 20 : 512 << 10;
  if (GetParam() == engine::FakeKind::kRecurrent) {  // 8 bytes a state
    settings.memory = 1 << 10;
    settings.disk = 32 << 10;
  }
  constexpr unsigned kSeed = 5;
  DayTest test(path != nullptr ? read_day(path) : DayMaker(kSeed, 40).day(), settings, kSeed);
  const Sums sums = test.run();
  std::cout << "seed " << kSeed << ": " << sums.requests << " requests compared (" << sums.too_long
            << " too long), " << sums.lives << " lives, " << sums.crashes << " crashes; "
            << sums.restored << " of " << sums.prompt << " tokens reused, " << sums.lower
            << " from disk in " << sums.fetches << " fetches; " << sums.evicted
            << " bytes evicted, " << sums.dropped << " blobs dropped, at most " << sums.nodes_most
            << " nodes\n";
  EXPECT_GT(sums.requests, 500U);
  EXPECT_GT(sums.crashes, 3U);
  EXPECT_GT(sums.lives, sums.crashes + 3U);
  EXPECT_GT(sums.fetches, 20U);
  EXPECT_GT(sums.evicted, 0U);
  EXPECT_GT(sums.dropped, 0U);
  EXPECT_GT(2 * sums.restored, sums.prompt);
  EXPECT_LT(sums.nodes_most, path != nullptr ? 20'000U : 2'000U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ADay,
                         ::testing::Values(engine::FakeKind::kAttention,
                                           engine::FakeKind::kWindowed,
                                           engine::FakeKind::kRecurrent,
                                           engine::FakeKind::kHybrid));

}  // namespace
}  // namespace holdfast::serve
