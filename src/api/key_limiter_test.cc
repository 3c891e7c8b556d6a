// No key takes more than its share; and the budget of bodies.
#include "api/key_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;

constexpr KeyLimiter::TimePoint kStart{1000s};

Asker asker_with(KeyLimits limits, std::string key = "a") {
  return {.name = key, .role = KeyRole::kUser, .limits = limits, .key_name = key};
}

using Answer = std::variant<KeyLimiter::Ticket, KeyLimiter::Refusal>;

bool admitted(const Answer& answer) { return std::holds_alternative<KeyLimiter::Ticket>(answer); }

TEST(KeyLimiter, LIMIT1SoManyRequestsAtATime) {
  KeyLimiter limiter;
  const Asker asker = asker_with({.requests = 2});
  auto first = std::make_unique<Answer>(limiter.admit(asker, 0, kStart));
  const auto second = limiter.admit(asker, 0, kStart);
  EXPECT_TRUE(admitted(*first) && admitted(second));
  EXPECT_FALSE(admitted(limiter.admit(asker, 0, kStart)));
  EXPECT_TRUE(admitted(limiter.admit(asker_with({.requests = 2}, "b"), 0, kStart)))
      << "others are not concerned";
  first.reset();
  EXPECT_TRUE(admitted(limiter.admit(asker, 0, kStart)));
}

TEST(KeyLimiter, LIMIT2OfTheseSoManyWait) {
  KeyLimiter limiter;
  const Asker asker = asker_with({.queue = 1});
  const auto first = limiter.admit(asker, 0, kStart);
  EXPECT_FALSE(admitted(limiter.admit(asker, 0, kStart))) << "the first one waits";
  const auto second = limiter.admit(asker, 1, kStart);
  EXPECT_TRUE(admitted(second)) << "the first one is at work";
  EXPECT_FALSE(admitted(limiter.admit(asker, 1, kStart)));
}

TEST(KeyLimiter, LIMIT3SoManyAMinute) {
  KeyLimiter limiter;
  const Asker asker = asker_with({.rate = 6});  // one in ten seconds
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(admitted(limiter.admit(asker, 0, kStart))) << i;
  const Answer refused = limiter.admit(asker, 0, kStart);
  ASSERT_FALSE(admitted(refused));
  EXPECT_EQ(std::get<KeyLimiter::Refusal>(refused).retry_after_s, 10);
  EXPECT_FALSE(admitted(limiter.admit(asker, 0, kStart + 9s)));
  EXPECT_TRUE(admitted(limiter.admit(asker, 0, kStart + 10s)));
  EXPECT_FALSE(admitted(limiter.admit(asker, 0, kStart + 10s)));
}

TEST(KeyLimiter, WithoutLimitsNobodyIsCounted) {
  KeyLimiter limiter;
  std::vector<Answer> held;
  for (int i = 0; i < 1000; ++i) held.push_back(limiter.admit(asker_with({}), 0, kStart));
  EXPECT_TRUE(std::ranges::all_of(held, admitted));
}

}  // namespace
}  // namespace holdfast::api
