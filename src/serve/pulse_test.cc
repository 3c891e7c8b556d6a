#include "serve/pulse.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PulseTest : public testing::Test {
 protected:
  void piece(Work work, TokenPos tokens, std::chrono::nanoseconds taking) {
    pulse_.begin(work, tokens, "r");
    clock_.advance(taking);
  }
  [[nodiscard]] double bound_s(Work work, TokenPos tokens = 0) {
    pulse_.begin(work, tokens, "r");
    return pulse_.read().bound_ms / 1000.0;
  }

  ManualClock clock_;
  Pulse pulse_{clock_};
};

TEST_F(PulseTest, PULSE1ALoopThatRestsIsNeverStuck) {
  EXPECT_FALSE(pulse_.read().stuck());
  piece(Work::kRound, 0, milliseconds(1));
  pulse_.rest();
  clock_.advance(std::chrono::hours(1000));
  EXPECT_FALSE(pulse_.read().stuck());
  EXPECT_EQ(pulse_.read().in_words(), "resting");
}

TEST_F(PulseTest, PULSE2APieceIsStuckBeyondItsBound) {
  piece(Work::kReading, 256, milliseconds(100));
  piece(Work::kReading, 256, seconds(60));
  EXPECT_FALSE(pulse_.read().stuck());
  clock_.advance(milliseconds(1));
  const PulseReading reading = pulse_.read();
  EXPECT_TRUE(reading.stuck());
  EXPECT_EQ(reading.request, "r");
  EXPECT_EQ(reading.in_words(), "reading 256 tokens for 60 s");
  pulse_.begin(Work::kWriting, 1, "s");
  EXPECT_FALSE(pulse_.read().stuck());
}

TEST_F(PulseTest, PULSE2AFirstPieceHasTenMinutes) {
  piece(Work::kReading, 512, seconds(600));
  EXPECT_FALSE(pulse_.read().stuck());
  clock_.advance(milliseconds(1));
  EXPECT_TRUE(pulse_.read().stuck());
}

TEST_F(PulseTest, PULSE3TheBoundFollowsTheSlowestRecentPieceOfItsKind) {
  piece(Work::kReading, 256, seconds(10));
  piece(Work::kWriting, 1, milliseconds(20));
  EXPECT_DOUBLE_EQ(bound_s(Work::kReading, 256), 200.0);
  EXPECT_NEAR(bound_s(Work::kReading, 512), 400.0, 10.0) << "twice the tokens";
  EXPECT_DOUBLE_EQ(bound_s(Work::kWriting, 1), 60.0) << "another kind";
  for (int i = 0; i < 1000; ++i) piece(Work::kReading, 256, milliseconds(10));
  EXPECT_DOUBLE_EQ(bound_s(Work::kReading, 256), 60.0) << "it is forgotten";
}

TEST_F(PulseTest, TellsSinceWhenTheRoundIsUnderWay) {
  piece(Work::kRound, 0, seconds(1));
  piece(Work::kReading, 8, seconds(2));
  EXPECT_DOUBLE_EQ(pulse_.read().round_ms, 3000.0);
  EXPECT_DOUBLE_EQ(pulse_.read().piece_ms, 2000.0);
}

// --- in the loop ---------------------------------------------------------------------------------

// An engine call that does not return until it is told to.
class Gate {
 public:
  engine::FakeFault pass(engine::FakeOperation operation) {
    std::unique_lock lock(mutex_);
    if (operation != closed_for_) return engine::FakeFault::kNone;
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    return engine::FakeFault::kNone;
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void close_for(engine::FakeOperation operation) { closed_for_ = operation; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  engine::FakeOperation closed_for_ = engine::FakeOperation::kPrefill;
  bool reached_ = false;
  bool open_ = false;
};

class StuckLoop : public testing::TestWithParam<engine::FakeOperation> {};

TEST_P(StuckLoop, IsNamedWithItsRequestAndGoesOn) {
  Gate gate;
  gate.close_for(GetParam());
  engine::FakeOptions fake;
  fake.faults = [&](engine::FakeOperation operation) { return gate.pass(operation); };
  Bench bench(fake);
  bench.scheduler.start();
  const auto recorder = bench.submit("hello");
  gate.wait_until_reached();
  EXPECT_FALSE(bench.scheduler.pulse().stuck());
  bench.clock.advance(std::chrono::hours(1));
  const PulseReading reading = bench.scheduler.pulse();
  EXPECT_TRUE(reading.stuck());
  EXPECT_EQ(reading.request, "r1");
  EXPECT_EQ(reading.work,
            GetParam() == engine::FakeOperation::kPrefill ? Work::kReading : Work::kWriting);
  gate.open();
  recorder->wait_for_end();
  bench.scheduler.stop(StopMode::kFinish);
  EXPECT_TRUE(bench.scheduler.pulse().resting);
}

INSTANTIATE_TEST_SUITE_P(Operations, StuckLoop,
                         testing::Values(engine::FakeOperation::kPrefill,
                                         engine::FakeOperation::kDecode));

}  // namespace
}  // namespace holdfast::serve
