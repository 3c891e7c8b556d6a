#include "cache/foreign_states.h"

#include <gtest/gtest.h>

#include "state/chunk_keys.h"
#include "tier/path_name.h"

namespace holdfast::cache {
namespace {

Tokens counting(TokenPos count) {
  Tokens tokens;
  for (TokenPos i = 0; i < count; ++i) tokens.push_back(i);
  return tokens;
}

Fingerprint facts_of(const std::string& engine) {
  return Fingerprint().add("model", "3f2a").add("engine", engine);
}

ForeignMaker maker(const std::string& engine, bool chunk_keys = false) {
  return {facts_of(engine), "another engine (" + engine + ")", "", chunk_keys};
}

class ForeignStatesTest : public testing::Test {
 protected:
  // Rows in blobs of 128, as a store would say.
  void store(const std::string& engine, const std::string& tenant, const Tokens& keys) {
    tier::PathNamer names(facts_of(engine).space(tenant));
    names.append(keys);
    for (std::size_t i = 0; i < names.anchors().size(); i += 2) {
      known_.add(names.anchors()[i], static_cast<TokenPos>(i + 2) * kBlockTokens);
    }
  }
  [[nodiscard]] ForeignMatch find(const Tokens& tokens, const std::string& tenant = "",
                                  std::vector<TokenPos> cuts = {}) const {
    return ForeignStates({maker("old"), maker("older"), maker("exact", true)})
        .find(known_, {tenant, tokens, cuts});
  }
  tier::StoredDepths known_;
};

TEST_F(ForeignStatesTest, FindsTheMakerOfMostOfAPrompt) {
  EXPECT_EQ(find(counting(400)).agreed, 0);
  store("old", "", counting(300));
  EXPECT_EQ(find(counting(400)).agreed, 256);
  EXPECT_EQ(find(counting(400)).made_by, "another engine (old)");
  store("older", "", counting(400));
  EXPECT_EQ(find(counting(400)).made_by, "another engine (older)");
  EXPECT_TRUE(ForeignStates().find(known_, {"", counting(400), {}}).made_by.empty());
}

TEST_F(ForeignStatesTest, Foreign1LooksAtNoOtherTenant) {
  store("old", "somebody", counting(300));
  EXPECT_EQ(find(counting(400)).agreed, 0);
  EXPECT_EQ(find(counting(400), "anybody").agreed, 0);
  EXPECT_EQ(find(counting(400), "somebody").agreed, 256);
}

TEST_F(ForeignStatesTest, Foreign2SaysNoMoreThanAgrees) {
  store("old", "", counting(400));
  Tokens parted = counting(400);
  parted[200] = -1;
  EXPECT_EQ(find(parted).agreed, 128);
  parted[0] = -1;
  EXPECT_EQ(find(parted).agreed, 0);
  EXPECT_EQ(find(counting(60)).agreed, 0);
}

TEST_F(ForeignStatesTest, AMakerWithExactPromptsFilesUnderChunkKeys) {
  const std::vector<TokenPos> cuts = {100, 200, 300};
  store("exact", "", chunk_keys(counting(400), cuts));
  EXPECT_EQ(find(counting(400), "", cuts).agreed, 384);
  EXPECT_EQ(find(counting(400), "", {50}).agreed, 0);
}

}  // namespace
}  // namespace holdfast::cache
