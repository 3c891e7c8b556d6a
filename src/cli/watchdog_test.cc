#include "cli/watchdog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "env/log.h"

namespace holdfast::cli {
namespace {

class WatchdogTest : public testing::Test {
 protected:
  void SetUp() override {
    env::LogOptions options;
    options.sink.write = [this](std::string_view text) { log_ += text; };
    ASSERT_TRUE(env::Log::configure(std::move(options)).ok());
  }
  void TearDown() override { ASSERT_TRUE(env::Log::configure({}).ok()); }

  [[nodiscard]] int lines() const {
    return static_cast<int>(std::count(log_.begin(), log_.end(), '\n'));
  }

  std::string log_;
  std::optional<serve::PulseReading> pulse_;
  Watchdog watchdog_{[this] { return pulse_; }};
};

TEST_F(WatchdogTest, SaysOnceThatTheLoopIsStuckAndOnceThatItGoesOn) {
  watchdog_.look_once();
  pulse_.emplace();
  watchdog_.look_once();
  EXPECT_EQ(log_, "");
  pulse_->resting = false;
  pulse_->work = serve::Work::kReading;
  pulse_->tokens = 256;
  pulse_->request = "chatcmpl-7";
  pulse_->bound_ms = 60'000;
  pulse_->piece_ms = 75'000;
  watchdog_.look_once();
  watchdog_.look_once();
  EXPECT_EQ(lines(), 1);
  EXPECT_NE(log_.find("error the scheduler is stuck: reading 256 tokens for 75 s request=chatcmpl-7"
                      " ms=75000 bound_ms=60000"),
            std::string::npos)
      << log_;
  pulse_->piece_ms = 5;
  watchdog_.look_once();
  watchdog_.look_once();
  EXPECT_EQ(lines(), 2);
  EXPECT_NE(log_.find("warn  the scheduler goes on"), std::string::npos) << log_;
}

}  // namespace
}  // namespace holdfast::cli
