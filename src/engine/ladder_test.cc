#include "engine/ladder.h"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

const EngineSetting kAsked{"zen4", true, true, true};
const std::vector<std::string> kOthers{"haswell", "x64"};

CheckedKind kind(bool together, bool drafted, bool good) {
  CheckedKind out;
  out.name = together ? "slots" : drafted ? "drafts" : "plain";
  out.together = together;
  out.drafted = drafted;
  out.verdict = good ? CheckVerdict::kPassed : CheckVerdict::kFailed;
  if (!good) out.finding = "wrong";
  return out;
}

// An engine that is wrong in kinds of batch where `wrong` says so.
struct World {
  std::function<bool(const EngineSetting&, const CheckedKind&)> wrong;
  std::vector<EngineSetting> tried;

  Result<ConformanceReport> operator()(const EngineSetting& setting) {
    tried.push_back(setting);
    ConformanceReport report;
    for (const auto& [together, drafted] :
         {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      if ((together && !setting.together) || (drafted && !setting.drafts)) continue;
      CheckedKind one = kind(together, drafted, true);
      if (wrong(setting, one)) one = kind(together, drafted, false);
      report.kinds.push_back(one);
    }
    return report;
  }
};

Result<Climb> climb_in(World& world) {
  return climb(rungs_from(kAsked, kOthers), [&](const EngineSetting& s) { return world(s); });
}

TEST(Ladder, WhatPassesIsUsedAsAsked) {
  World world{[](const auto&, const auto&) { return false; }, {}};
  const auto result = climb_in(world);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->rung.setting, kAsked);
  EXPECT_EQ(result->fault, "");
  EXPECT_EQ(world.tried.size(), 1U);
}

TEST(Ladder, ExtraBuffersGoFirst) {
  World world{
      [](const auto& setting, const auto& k) { return setting.extra_buffers && k.together; }, {}};
  const auto result = climb_in(world);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->rung.setting, (EngineSetting{"zen4", false, true, true}));
  EXPECT_EQ(result->rung.words, "without extra buffer types");
  EXPECT_EQ(result->fault, "slots: wrong");
}

TEST(Ladder, ThenTheVariant) {
  World world{[](const auto& s, const auto&) { return s.cpu_variant != "x64"; }, {}};
  const auto result = climb_in(world);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->rung.setting, (EngineSetting{"x64", true, true, true}));
  EXPECT_EQ(result->rung.words, "with the CPU variant x64");
}

TEST(Ladder, ThenSlotsOneByOne) {
  World world{[](const auto&, const auto& k) { return k.together && k.drafted; }, {}};
  const auto result = climb_in(world);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->rung.setting, (EngineSetting{"zen4", true, false, true}));
}

TEST(Ladder, ThenDrafts) {
  World world{[](const auto&, const auto& k) { return k.drafted; }, {}};
  const auto result = climb_in(world);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->rung.setting, (EngineSetting{"zen4", true, true, false}));
  for (const EngineSetting& setting : world.tried) {
    EXPECT_TRUE(setting.together) << "slots one by one cannot help, and were not tried";
  }
}

TEST(Ladder, ThenBoth) {
  World world{[](const auto&, const auto& k) { return k.drafted != k.together; }, {}};
  const auto result = climb_in(world);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->rung.setting, (EngineSetting{"zen4", true, false, false}));
}

TEST(Ladder, AtLastARefusalThatSaysWhatWasFound) {
  World world{[](const auto&, const auto& k) { return !k.together && !k.drafted; }, {}};
  const auto result = climb_in(world);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kEngine);
  EXPECT_NE(result.error().message.find("plain: wrong"), std::string::npos);
  EXPECT_EQ(world.tried.size(), 4U) << "as asked, without buffers, two variants";
}

TEST(Ladder, AModelThatCannotBeLoadedIsNoFaultOfTheEngine) {
  const auto result = climb(rungs_from(kAsked, kOthers), [](const EngineSetting&) {
    return Result<ConformanceReport>(invalid_argument("--model", "There is no such file."));
  });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "There is no such file.");
}

TEST(Ladder, ARungThatCannotBeLoadedIsPassedOver) {
  World world{[](const auto& s, const auto&) { return s.cpu_variant == "zen4"; }, {}};
  std::vector<std::string> falls;
  const auto result = climb(
      rungs_from(kAsked, kOthers),
      [&](const EngineSetting& s) -> Result<ConformanceReport> {
        if (s.cpu_variant == "haswell") return Error{ErrorCode::kEngine, "no memory", ""};
        return world(s);
      },
      [&](const std::string& fault, const Rung& next) {
        falls.push_back(fault + "|" + next.words);
      });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->rung.setting.cpu_variant, "x64");
  EXPECT_EQ(falls.size(), 3U);
  EXPECT_EQ(falls.front(), "plain: wrong|without extra buffer types");
}

}  // namespace
}  // namespace holdfast::engine
