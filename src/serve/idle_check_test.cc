// The engine's check while nobody waits, on the fake engine.
#include "serve/idle_check.h"

#include <gtest/gtest.h>

#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

class Reports final : public SchedulerObserver {
 public:
  void on_checked(const engine::ConformanceReport& report) override { all_.push_back(report); }
  std::vector<engine::ConformanceReport> all_;
};

engine::ConformanceOptions checks() {
  engine::ConformanceOptions how;
  how.chunk = 16;
  return how;
}

struct Idle {
  explicit Idle(engine::FakeOptions fake = {}) : bench(fake, options(), {.observer = &reports}) {}

  static SchedulerOptions options() {
    SchedulerOptions made;
    made.cache.memory.budget = 1 << 20;
    made.check = checks();
    return made;
  }
  void rest(const std::function<bool()>& wanted = [] { return false; }) {
    bench.scheduler.idle_work().keep_states();
    bench.scheduler.idle_work().check_engine(wanted);
    ASSERT_EQ(bench.scheduler.check(),
              std::vector<std::string>{});  // SLOT-1: slots are as the cache says
  }

  Reports reports;
  Bench bench;
};

TEST(IdleCheck, IsDoneOnceAndSaid) {
  Idle idle;
  idle.rest();
  ASSERT_EQ(idle.reports.all_.size(), 1U);
  EXPECT_TRUE(idle.reports.all_[0].passed()) << idle.reports.all_[0].first_failure()->finding;
  EXPECT_TRUE(idle.reports.all_[0].complete());
  idle.rest();
  EXPECT_EQ(idle.reports.all_.size(), 1U) << "nothing is left to check";
}

TEST(IdleCheck, ARequestEndsItAtTheNextBatchAndTheRestFollows) {
  Idle idle;
  int looks = 0;
  idle.rest([&] { return ++looks > 40; });
  ASSERT_EQ(idle.reports.all_.size(), 1U);
  EXPECT_EQ(looks, 41) << "it is asked before each batch, and not again";
  const engine::ConformanceReport first = idle.reports.all_[0];
  EXPECT_TRUE(first.passed());
  EXPECT_FALSE(first.complete());
  EXPECT_GT(first.count(engine::CheckVerdict::kPassed), 4U);
  EXPECT_NE(idle.bench.run("hello", 4), "");
  idle.rest();
  ASSERT_EQ(idle.reports.all_.size(), 2U);
  EXPECT_TRUE(idle.reports.all_[1].complete());
  EXPECT_GT(idle.reports.all_[1].count(engine::CheckVerdict::kKnown), 0U);
}

TEST(IdleCheck, ConversationsAreAnsweredAsIfItHadNotBeen) {
  const std::string prompt = "a story that goes on and on and on, and is long enough to be kept";
  Idle idle;
  const std::string first = idle.bench.run(prompt, 8);
  idle.rest();
  EXPECT_TRUE(idle.reports.all_.at(0).complete());
  EXPECT_EQ(idle.bench.run(prompt, 8), first);
  EXPECT_GT(idle.bench.scheduler.receipts().latest(1, "").at(0).restored, 0);
}

TEST(IdleCheck, NothingIsLostForIt) {
  engine::FakeOptions fake;
  fake.slots = 1;
  SchedulerOptions options = Idle::options();
  options.cache.memory.budget = 0;  // what the slot holds is nowhere else
  Reports reports;
  Bench bench(fake, options, {.observer = &reports});
  (void)bench.run("a story", 8);
  bench.scheduler.idle_work().check_engine([] { return false; });
  EXPECT_TRUE(reports.all_.empty());
  EXPECT_GT(bench.engine.length(SlotId{0}), 0);
}

TEST(IdleCheck, AFaultIsTold) {
  engine::FakeOptions fake;
  int loads = 0;
  fake.faults = [&](engine::FakeOperation operation) {
    return operation == engine::FakeOperation::kLoad && ++loads > 3 ? engine::FakeFault::kFail
                                                                    : engine::FakeFault::kNone;
  };
  Idle idle(fake);
  idle.rest();
  ASSERT_EQ(idle.reports.all_.size(), 1U);
  EXPECT_FALSE(idle.reports.all_[0].passed());
}

}  // namespace
}  // namespace holdfast::serve
