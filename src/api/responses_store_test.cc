#include "api/responses_store.h"

#include <gtest/gtest.h>

namespace holdfast::api {
namespace {

StoredResponse response(const std::string& id, const std::string& tenant = "t",
                        std::size_t bytes = 10) {
  return {id, tenant, std::string(bytes, 'i'), "{}", {{"item of " + id, "[" + id + "]"}}};
}

TEST(ResponseStore, FindsWhatWasPut) {
  ResponseStore store;
  EXPECT_TRUE(store.put(response("a")));
  ASSERT_NE(store.find("t", "a"), nullptr);
  EXPECT_EQ(store.find("t", "a")->items_json, std::string(10, 'i'));
  EXPECT_EQ(store.find("t", "b"), nullptr);
  EXPECT_TRUE(store.remove("t", "a"));
  EXPECT_FALSE(store.remove("t", "a"));
  EXPECT_EQ(store.check(), std::vector<std::string>{});
}

TEST(ResponseStore, FindsTheItemsOfAnOutput) {
  ResponseStore store({.responses_max = 1});
  store.put(response("a"));
  EXPECT_EQ(store.find_item("t", "item of a"), "[a]");
  EXPECT_EQ(store.find_item("t", "item of b"), std::nullopt);
  store.put(response("b"));
  EXPECT_EQ(store.find_item("t", "item of a"), std::nullopt) << "it went with its response";
  EXPECT_EQ(store.find_item("t", "item of b"), "[b]");
  EXPECT_EQ(store.check(), std::vector<std::string>{});
}

TEST(ResponseStore, Rstore1TheOneUnusedForLongestGoesFirst) {
  ResponseStore store({.responses_max = 2});
  store.put(response("a"));
  store.put(response("b"));
  ASSERT_NE(store.find("t", "a"), nullptr);
  store.put(response("c"));
  EXPECT_EQ(store.find("t", "b"), nullptr);
  EXPECT_NE(store.find("t", "a"), nullptr);
  EXPECT_EQ(store.check(), std::vector<std::string>{});
}

TEST(ResponseStore, Rstore2BytesAreBounded) {
  const ByteCount one = ResponseStore::cost(response("a", "t", 1000));
  ResponseStore store({.responses_max = 100, .bytes_max = 2 * one});
  store.put(response("a", "t", 1000));
  store.put(response("b", "t", 1000));
  store.put(response("c", "t", 1000));
  EXPECT_EQ(store.find("t", "a"), nullptr);
  EXPECT_NE(store.find("t", "b"), nullptr);
  EXPECT_FALSE(store.put(response("d", "t", 10000))) << "larger than all of the store";
  EXPECT_NE(store.find("t", "b"), nullptr) << "and nothing had to go for it";
  EXPECT_EQ(store.check(), std::vector<std::string>{});
}

TEST(ResponseStore, Rstore3TheSameIdIsReplaced) {
  ResponseStore store;
  store.put(response("a", "t", 10));
  store.put(response("a", "t", 20));
  EXPECT_EQ(store.find("t", "a")->items_json.size(), 20U);
  EXPECT_EQ(store.check(), std::vector<std::string>{});
}

TEST(ResponseStore, Rstore4TenantsDoNotSeeEachOther) {
  ResponseStore store;
  store.put(response("a", "mine"));
  EXPECT_EQ(store.find("yours", "a"), nullptr);
  EXPECT_EQ(store.find_item("yours", "item of a"), std::nullopt);
  EXPECT_FALSE(store.remove("yours", "a"));
  EXPECT_NE(store.find("mine", "a"), nullptr);
}

}  // namespace
}  // namespace holdfast::api
