// The check of an engine (engine/conformance.h): real engines of every architecture pass it, and
// planted faults are found, each in the kinds of batch that have it.
#include "engine/conformance.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "engine/llama/llama_config.h"
#include "engine/llama/testing/tiny_models.h"
#include "faulty_engine.h"

namespace holdfast {
namespace {

llama::LoadedModel load(const std::string& path, int slots = 4, TokenPos drafts = 3) {
  llama::LlamaConfig config;
  config.model_path = path;
  config.slots = slots;
  config.context_tokens = 512;
  config.threads = 1;  // tests share their cores
  config.draft_source = DraftSource::kNgram;
  config.draft_tokens_max = drafts;
  auto loaded = llama::load_llama_model(config, nullptr);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return std::move(*loaded);
}

engine::ConformanceOptions short_chunks() {
  engine::ConformanceOptions options;
  options.chunk = 64;
  return options;
}

std::string failures(const engine::ConformanceReport& report) {
  std::string text;
  for (const engine::CheckedKind& kind : report.kinds) {
    if (kind.verdict == engine::CheckVerdict::kFailed)
      text += kind.name + ": " + kind.finding + "\n";
  }
  return text;
}

std::set<std::string> failed_names(const engine::ConformanceReport& report) {
  std::set<std::string> names;
  for (const engine::CheckedKind& kind : report.kinds) {
    if (kind.verdict == engine::CheckVerdict::kFailed) names.insert(kind.name);
  }
  return names;
}

// --- engines that are right -------------------------------------------------------

class EveryArchitecture : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryArchitecture, Passes) {
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("holdfast-conformance-" + std::string(GetParam()) + ".gguf");
  const auto written = llama::write_tiny_model(llama::TinySpec{GetParam()}, 42, path);
  ASSERT_TRUE(written.ok()) << written.error().message;
  const llama::LoadedModel model = load(path.string());
  std::filesystem::remove(path);
  const engine::ConformanceReport report = engine::check_conformance(*model.engine, short_chunks());
  EXPECT_TRUE(report.passed()) << failures(report);
  EXPECT_TRUE(report.complete());
  EXPECT_TRUE(report.repeats);
  EXPECT_GT(report.effect, 20 * report.rounding) << "the check cannot tell right from wrong";
  for (int i = 0; i < model.engine->slot_count(); ++i) {
    EXPECT_EQ(model.engine->length(SlotId{i}), 0) << "slots are left as they were";
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, EveryArchitecture,
                         testing::ValuesIn(llama::tiny_architectures().begin(),
                                           llama::tiny_architectures().end()),
                         [](const auto& param) {
                           std::string name(param.param);
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

// --- engines that are not ---------------------------------------------------------

class Planted : public testing::Test {
 protected:
  engine::ConformanceReport check(PlantedFault fault,
                                  engine::ConformanceOptions options = short_chunks()) {
    FaultyEngine faulty(*model_.engine, fault);
    return engine::check_conformance(faulty, options);
  }

  llama::LoadedModel model_ = load(HOLDFAST_POCKET_MODEL_PATH);
};

TEST_F(Planted, NothingIsFoundWhereNothingIsWrong) {
  const engine::ConformanceReport report = check(PlantedFault::kNone);
  EXPECT_TRUE(report.passed()) << failures(report);
  EXPECT_TRUE(report.complete());
}

TEST_F(Planted, OnlyTheFirstSlotIsRight) {
  const engine::ConformanceReport report = check(PlantedFault::kOnlyFirstSlot);
  ASSERT_NE(report.first_failure(), nullptr);
  EXPECT_EQ(report.first_failure()->name, "4 slots beginning together");
  EXPECT_FALSE(report.passed_with(true, true));
  EXPECT_FALSE(report.passed_with(true, false));
  EXPECT_TRUE(report.passed_with(false, true)) << failures(report);
}

TEST_F(Planted, ThreeSlotsAreWrong) {
  const engine::ConformanceReport report = check(PlantedFault::kThreeSlots);
  EXPECT_EQ(failed_names(report),
            (std::set<std::string>{"3 slots, 1 token each", "3 slots, 2 tokens each",
                                   "3 slots, 3 tokens each", "3 slots, 4 tokens each"}));
  EXPECT_TRUE(report.passed_with(false, true));
}

TEST_F(Planted, OneValueIsNoNumber) {
  const engine::ConformanceReport report = check(PlantedFault::kOneNan);
  EXPECT_EQ(failed_names(report), std::set<std::string>{"2 slots, 3 tokens each"});
  EXPECT_NE(report.first_failure()->finding.find("no number"), std::string::npos);
  EXPECT_TRUE(report.passed_with(false, true));
  EXPECT_TRUE(report.passed_with(true, false));
}

TEST_F(Planted, RowsComeBackOffByOne) {
  const engine::ConformanceReport report = check(PlantedFault::kRestoreOffByOne);
  EXPECT_EQ(failed_names(report), std::set<std::string>{"a state restored from its parts"});
  EXPECT_FALSE(report.passed_with(false, false)) << "no way of serving avoids it";
}

TEST_F(Planted, APlaneIsStale) {
  ASSERT_TRUE(model_.engine->can_take_back(3)) << "the fault needs planes";
  const engine::ConformanceReport report = check(PlantedFault::kStalePlane);
  const auto failed = failed_names(report);
  EXPECT_TRUE(failed.contains("1 token of 4 taken back"));
  EXPECT_TRUE(failed.contains("3 tokens of 4 taken back"));
  EXPECT_TRUE(failed.contains("tokens of 4 slots taken back"));
  EXPECT_TRUE(report.passed_with(true, false)) << failures(report);
  EXPECT_FALSE(report.passed_with(false, true));
}

// --- time -------------------------------------------------------------------------

TEST_F(Planted, WhenTimeIsOverTheRestIsLeftOutAndTheFirstKindIsStillChecked) {
  double now = 0.0;
  engine::ConformanceOptions options = short_chunks();
  options.ms_max = 100.0;
  options.now_ms = [&] { return now += 10.0; };  // every look at the clock takes time
  const engine::ConformanceReport report = check(PlantedFault::kOnlyFirstSlot, options);
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(report.kinds.front().verdict, engine::CheckVerdict::kFailed);
  EXPECT_GT(report.count(engine::CheckVerdict::kLeftOut), 20U);

  options.ms_max = 0.0;
  const engine::ConformanceReport hurried = check(PlantedFault::kOnlyFirstSlot, options);
  EXPECT_EQ(hurried.kinds.front().verdict, engine::CheckVerdict::kFailed);
  EXPECT_EQ(hurried.count(engine::CheckVerdict::kLeftOut), hurried.kinds.size() - 1);
}

TEST_F(Planted, KindsThatPassedBeforeAreNotCheckedAgain) {
  engine::ConformanceOptions options = short_chunks();
  options.known = {"3 slots, 1 token each"};
  const auto failed = failed_names(check(PlantedFault::kThreeSlots, options));
  EXPECT_FALSE(failed.contains("3 slots, 1 token each"));
  EXPECT_TRUE(failed.contains("3 slots, 2 tokens each"));
}

TEST_F(Planted, KindsThatAreNeverFormedAreNotChecked) {
  engine::ConformanceOptions options = short_chunks();
  options.together = false;
  EXPECT_TRUE(check(PlantedFault::kOnlyFirstSlot, options).passed());
  options.drafts = false;
  EXPECT_TRUE(check(PlantedFault::kStalePlane, options).passed());
}

}  // namespace
}  // namespace holdfast
