#include "record/private_names.h"

#include <gtest/gtest.h>

namespace holdfast::record {
namespace {

cache::Receipt receipt_of(const std::string& tenant) {
  cache::Receipt receipt;
  receipt.id = "chatcmpl-secret";
  receipt.tenant = tenant;
  receipt.response = "a secret response";
  receipt.session = "a secret session";
  receipt.advice = "a secret advice";
  return receipt;
}

// PRIVATE-1
TEST(PrivateNames, Names1NothingOfAClientIsLeft) {
  PrivateNames names;
  cache::Receipt receipt = receipt_of("alice");
  receipt.difference.emplace();
  receipt.difference->known = {1, 2};
  receipt.difference->sent = {3};
  const cache::Receipt bare = names.without_names(receipt, 7);
  EXPECT_EQ(bare.id, "r7");
  EXPECT_EQ(bare.tenant, "t1");
  EXPECT_TRUE(bare.response.empty());
  EXPECT_TRUE(bare.session.empty());
  EXPECT_TRUE(bare.advice.empty());
  ASSERT_TRUE(bare.difference.has_value());
  EXPECT_TRUE(bare.difference->known.empty());
  EXPECT_TRUE(bare.difference->sent.empty());
}

TEST(PrivateNames, ANameHasOneNumber) {
  PrivateNames names;
  EXPECT_EQ(names.without_names(receipt_of("alice"), 1).tenant, "t1");
  EXPECT_EQ(names.without_names(receipt_of("bob"), 2).tenant, "t2");
  EXPECT_EQ(names.without_names(receipt_of("alice"), 3).tenant, "t1");
  EXPECT_EQ(names.without_names(receipt_of(""), 4).tenant, "");
  const SpaceKey first = names.number_of({11, 12});
  const SpaceKey second = names.number_of({11, 13});
  EXPECT_EQ(first, (SpaceKey{0, 1}));
  EXPECT_EQ(second, (SpaceKey{0, 2}));
  EXPECT_EQ(names.number_of({11, 12}), first);
}

TEST(PrivateNames, ARequestThatWasWaitedForIsItsNumberWhileItRuns) {
  PrivateNames names;
  cache::Receipt receipt = receipt_of("alice");
  receipt.waited_for = "chatcmpl-other";
  names.note_begun("chatcmpl-other", 5);
  EXPECT_EQ(names.without_names(receipt, 6).waited_for, "r5");
  names.note_ended("chatcmpl-other");
  EXPECT_EQ(names.without_names(receipt, 6).waited_for, "r");
  receipt.waited_for.clear();
  EXPECT_EQ(names.without_names(receipt, 6).waited_for, "");
}

}  // namespace
}  // namespace holdfast::record
