#include "cache/answer_ids.h"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::cache {
namespace {

constexpr SpaceKey kSpace{1, 2};
constexpr SpaceKey kOtherTenant{1, 3};

TEST(AnswerIds, ID1AnIdGivesItsNameBack) {
  const tier::Secret key = tier::random_secret();
  const AnswerIds ids(key);
  std::set<std::string> made;
  for (int i = 0; i < 100; ++i) {
    const tier::AnswerName name = AnswerIds::new_name();
    const std::string id = ids.make(kSpace, name);
    EXPECT_EQ(id.size(), AnswerIds::kLength);
    EXPECT_TRUE(id.starts_with(AnswerIds::kPrefix)) << id;
    EXPECT_EQ(ids.read(kSpace, id).name, name);
    EXPECT_EQ(AnswerIds(key).read(kSpace, id).name, name) << "after a restart";
    made.insert(id);
  }
  EXPECT_EQ(made.size(), 100U);
}

TEST(AnswerIds, ID2NoOtherTextGivesOne) {
  const AnswerIds ids(tier::random_secret());
  const std::string id = ids.make(kSpace, AnswerIds::new_name());
  for (std::size_t i = 0; i < id.size(); ++i) {
    for (const char c : std::string("Ab9-_ =\n")) {
      std::string changed = id;
      changed[i] = c;
      if (changed == id) continue;
      EXPECT_EQ(ids.read(kSpace, changed).name, std::nullopt) << changed;
    }
  }
  for (std::size_t length = 0; length < id.size(); ++length)
    EXPECT_EQ(ids.read(kSpace, id.substr(0, length)).name, std::nullopt);
  EXPECT_EQ(ids.read(kSpace, id + "A").name, std::nullopt);
}

TEST(AnswerIds, ForeignAndForgedOnesAreToldApart) {
  const AnswerIds ids(tier::random_secret());
  const AnswerIds other(tier::random_secret());
  const tier::AnswerName name = AnswerIds::new_name();
  const std::string id = ids.make(kSpace, name);
  EXPECT_EQ(other.read(kSpace, id).fate, AnswerIdFate::kForeign) << "another folder";
  EXPECT_EQ(ids.read(kOtherTenant, id).fate, AnswerIdFate::kForeign) << "another tenant or model";
  EXPECT_EQ(ids.read(kOtherTenant, id).name, std::nullopt);
  EXPECT_EQ(ids.read(kSpace, "EqQBCgIYAhIM1gbcDa9GJwZA2b3h").fate, AnswerIdFate::kForeign);
  EXPECT_EQ(ids.read(kSpace, "").fate, AnswerIdFate::kForeign);
  std::string changed = id;
  changed.back() = changed.back() == 'A' ? 'B' : 'A';
  EXPECT_EQ(ids.read(kSpace, changed).fate, AnswerIdFate::kForged);
  EXPECT_EQ(ids.read(kSpace, "hf1_").fate, AnswerIdFate::kForged);
}

TEST(AnswerIds, TheirFatesAreCounted) {
  AnswerIds ids(tier::random_secret());
  ids.count(AnswerIdFate::kForged);
  ids.count(AnswerIdFate::kForged);
  EXPECT_EQ(ids.counted(AnswerIdFate::kForged), 2U);
  EXPECT_EQ(ids.counted(AnswerIdFate::kUsed), 0U);
}

}  // namespace
}  // namespace holdfast::cache
