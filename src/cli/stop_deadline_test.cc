#include "cli/stop_deadline.h"

#include <gtest/gtest.h>

#include <future>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kForever = 24h;

class StopDeadlineTest : public testing::Test {
 protected:
  StopDeadline::Plan plan(std::chrono::milliseconds patience, std::chrono::milliseconds after_cut) {
    return {patience, after_cut, [this] { cut_.set_value(); }, [this] { given_up_.set_value(); }};
  }
  static bool happened(std::future<void>& event) {
    return event.wait_for(0s) == std::future_status::ready;
  }

  std::promise<void> cut_;
  std::promise<void> given_up_;
  std::future<void> was_cut_ = cut_.get_future();
  std::future<void> was_given_up_ = given_up_.get_future();
};

TEST_F(StopDeadlineTest, STOP1WhatStopsInTimeIsLeftAlone) {
  {
    StopDeadline deadline(plan(kForever, kForever));
    deadline.done();
  }
  EXPECT_FALSE(happened(was_cut_));
  EXPECT_FALSE(happened(was_given_up_));
}

TEST_F(StopDeadlineTest, STOP1WhatStopsOnceItIsCutShortIsNotGivenUp) {
  StopDeadline deadline(plan(0ms, kForever));
  was_cut_.wait();
  deadline.done();
  EXPECT_FALSE(happened(was_given_up_));
}

TEST_F(StopDeadlineTest, STOP2WhatNeverStopsIsGivenUp) {
  StopDeadline deadline(plan(0ms, 0ms));
  was_given_up_.wait();
  EXPECT_TRUE(happened(was_cut_));
}

TEST_F(StopDeadlineTest, STOP2AHurryIsACut) {
  StopDeadline deadline(plan(kForever, 0ms));
  deadline.hurry();
  was_given_up_.wait();
  EXPECT_FALSE(happened(was_cut_)) << "somebody else has done that";
}

}  // namespace
}  // namespace holdfast::cli
