#include "tier/age_sums.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace holdfast::tier {
namespace {

// Random additions and removals against a list.
TEST(AgeSums, AgreesWithAList) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::minstd_rand random(seed);
    const auto times = static_cast<std::int64_t>(1 + random() % 200);
    const auto any_time = [&] { return static_cast<std::int64_t>(random()) % times - times / 2; };
    AgeSums sums;
    std::vector<AgeSums::Entry> list;
    for (int i = 0; i < 400; ++i) {
      if (list.empty() || random() % 5 < 3) {
        list.push_back({any_time(), random() % 1000});
        sums.add(list.back().time, list.back().bytes);
      } else {
        std::swap(list[random() % list.size()], list.back());
        sums.remove(list.back().time, list.back().bytes);
        list.pop_back();
      }
      ASSERT_EQ(sums.check(), std::vector<std::string>{});
      const std::int64_t limit = any_time();
      ByteCount wanted = 0;
      std::map<std::int64_t, ByteCount> by_time;
      for (const AgeSums::Entry& entry : list) {
        if (entry.time < limit) wanted += entry.bytes;
        by_time[entry.time] += entry.bytes;
      }
      ASSERT_EQ(sums.sum_while([&](std::int64_t time) { return time < limit; }), wanted);
      ASSERT_EQ(sums.entries().size(), by_time.size());
      ASSERT_EQ(sums.empty(), list.empty());
      for (const AgeSums::Entry& entry : sums.entries()) {
        ASSERT_EQ(by_time.at(entry.time), entry.bytes);
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::tier
