#include "cache/folder_survey.h"

#include <gtest/gtest.h>

namespace holdfast::cache {
namespace {

constexpr ByteCount kMiB = 1 << 20;

std::string settings(const std::string& model, const std::string& variant,
                     const std::string& rest = "grid=256 mode=throughput") {
  return "model=" + model + " engine=llama.cpp 0.5.0 (CPU : SSE3 = 1 | ) variant=" + variant + " " +
         rest;
}

class FolderSurveyTest : public testing::Test {
 protected:
  void add(const tier::SpaceNote& note, ByteCount bytes) {
    notes_[next()] = note;
    totals_.push_back({last_, 1, bytes});
  }
  void add_without_note(ByteCount bytes) { totals_.push_back({next(), 1, bytes}); }
  [[nodiscard]] FolderSurvey survey() const { return survey_folder(totals_, notes_, own_); }
  [[nodiscard]] std::vector<std::string> lines() const { return rest_lines(survey()); }

  const tier::SpaceNote own_{"qwen.gguf", settings("3f2a", "zen4"), false};

 private:
  SpaceKey next() { return last_ = {last_.high + 1, 7}; }
  std::vector<tier::SpaceTotal> totals_;
  std::map<SpaceKey, tier::SpaceNote> notes_;
  SpaceKey last_;
};

TEST_F(FolderSurveyTest, AnEmptyFolder) {
  EXPECT_EQ(survey().usable, 0U);
  EXPECT_TRUE(lines().empty());
  EXPECT_TRUE(survey().makers.empty());
}

TEST_F(FolderSurveyTest, AllOfItIsUsable) {
  add(own_, 3 * kMiB);
  add({"qwen.gguf", own_.settings, true}, 2 * kMiB);  // a tenant's is as good
  add({"renamed.gguf", own_.settings, false}, kMiB);  // the digest decides
  EXPECT_EQ(survey().usable, 6 * kMiB);
  EXPECT_TRUE(lines().empty());
}

TEST_F(FolderSurveyTest, WhatMadeTheRest) {
  add(own_, kMiB);
  add({"qwen.gguf", settings("3f2a", "haswell"), false}, 6 * kMiB);
  add({"qwen.gguf", settings("3f2a", "haswell"), true}, 3 * kMiB);
  add({"gemma.gguf", settings("77", "zen4"), false}, 5 * kMiB);
  add({"phi.gguf", settings("78", "haswell"), false}, kMiB);
  add({"qwen.gguf", settings("79", "zen4"), false}, 4 * kMiB);
  add_without_note(2 * kMiB);
  add({"qwen.gguf", "written by hand", false}, kMiB);
  EXPECT_EQ(
      lines(),
      (std::vector<std::string>{
          "9.0 MiB of it was made by another engine (CPU variant haswell, here zen4) and is not "
          "used; it goes when room is needed",
          "6.0 MiB of it belongs to other models",
          "4.0 MiB of it was made with another file of this model's name and is not used; it goes "
          "when room is needed",
          "3.0 MiB of it has no note that says what made it"}));
}

TEST_F(FolderSurveyTest, Survey1EveryByteIsCountedOnce) {
  add(own_, kMiB);
  for (int i = 0; i < 20; ++i) {
    add({"qwen.gguf", settings("3f2a", "variant" + std::to_string(i)), i % 2 == 0}, 100 + i);
    add_without_note(7);
  }
  ByteCount all = survey().usable;
  for (const FolderSurvey::Rest& rest : survey().rest) all += rest.bytes;
  EXPECT_EQ(all, kMiB + 20 * 100 + 190 + 20 * 7);
}

TEST_F(FolderSurveyTest, ManyKindsShareALine) {
  for (ByteCount i = 1; i <= 6; ++i) {
    add({"qwen.gguf", settings("3f2a", "variant" + std::to_string(i)), false}, i * kMiB);
  }
  ASSERT_EQ(lines().size(), 4U);
  EXPECT_TRUE(lines()[0].starts_with("6.0 MiB of it was made by another engine"));
  EXPECT_EQ(lines()[3], "6.0 MiB of it is of 3 more kinds; `holdfast cache ls` shows them");
}

TEST_F(FolderSurveyTest, MakersAreThoseOfThisModelTheLargestFirst) {
  add({"qwen.gguf", settings("3f2a", "zen4", "grid=512 mode=throughput"), true}, 3 * kMiB);
  add({"qwen.gguf", settings("3f2a", "haswell"), false}, 2 * kMiB);
  add({"qwen.gguf", settings("3f2a", "haswell"), true}, 2 * kMiB);
  add({"gemma.gguf", settings("77", "haswell"), false}, 9 * kMiB);
  const FolderSurvey found = survey();
  ASSERT_EQ(found.makers.size(), 2U);
  EXPECT_EQ(found.makers[0].made_by, "another engine (CPU variant haswell, here zen4)");
  EXPECT_EQ(found.makers[0].facts.describe(), settings("3f2a", "haswell"));
  EXPECT_EQ(found.makers[1].made_by, "a server with other settings (--grid-step 512, here 256)");
  EXPECT_EQ(found.makers[1].flags, "--grid-step 512");
  for (int i = 0; i < 30; ++i) {
    add({"qwen.gguf", settings("3f2a", "variant" + std::to_string(i)), false}, kMiB);
  }
  EXPECT_EQ(survey().makers.size(), FolderSurvey::kMakersMax);
}

// Their keys follow from chunks, and chunks of another grid cannot be made here.
TEST_F(FolderSurveyTest, MakersWithExactPromptsAreAskedOnTheSameGridOnly) {
  add({"qwen.gguf", settings("3f2a", "zen4", "grid=256 mode=deterministic threads=4/4"), false}, 9);
  add({"qwen.gguf", settings("3f2a", "zen4", "grid=512 mode=deterministic threads=4/4"), false}, 9);
  ASSERT_EQ(survey().makers.size(), 1U);
  EXPECT_TRUE(survey().makers[0].chunk_keys);
  EXPECT_EQ(survey().rest.size(), 2U);
}

TEST_F(FolderSurveyTest, ALongListIsComparedAsTheFolderKeepsIt) {
  const tier::SpaceNote longer{"qwen.gguf", own_.settings + " more=" + std::string(5000, 'x'),
                               false};
  const tier::SpaceNote noted = *tier::parse_note(tier::note_text(longer));
  const tier::SpaceTotal total{{1, 1}, 1, kMiB};
  EXPECT_EQ(survey_folder({&total, 1}, {{SpaceKey{1, 1}, noted}}, longer).usable, kMiB);
}

}  // namespace
}  // namespace holdfast::cache
