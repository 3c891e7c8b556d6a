#include "cache/receipt.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace holdfast::cache {
namespace {

Receipt make_receipt(const std::string& id, const std::string& tenant = "") {
  Receipt receipt;
  receipt.id = id;
  receipt.response = "chatcmpl-" + id;
  receipt.tenant = tenant;
  receipt.prompt_tokens = 100;
  receipt.matched = 70;
  receipt.restorable = 64;
  receipt.restored = 64;
  receipt.source = plan::StartSource::kMemory;
  receipt.recomputed = 36;
  receipt.missing = {.why = MissReason::kGrid, .position = 70};
  receipt.difference = Difference{.position = 70, .known = {1}, .sent = {2}};
  return receipt;
}

std::string first_word(const std::vector<std::string>& wrong) {
  if (wrong.size() != 1) return std::to_string(wrong.size()) + " violations";
  return wrong.front().substr(0, wrong.front().find(' '));
}

TEST(CheckReceipt, NamesTheInvariantThatIsBroken) {
  EXPECT_TRUE(check_receipt(make_receipt("a")).empty());
  EXPECT_TRUE(check_receipt(Receipt{}).empty());
  const std::pair<std::string, std::function<void(Receipt&)>> breaks[] = {
      {"RECEIPT-1", [](Receipt& r) { r.recomputed = 37; }},
      {"RECEIPT-1", [](Receipt& r) { r.recomputed = -1; }},
      {"RECEIPT-2", [](Receipt& r) { r.restorable = 63; }},
      {"RECEIPT-2", [](Receipt& r) { r.restorable = 101; }},
      {"RECEIPT-2", [](Receipt& r) { r.source = plan::StartSource::kNothing; }},
      {"RECEIPT-2", [](Receipt& r) { r.restored = 0; }},
      {"RECEIPT-3", [](Receipt& r) { r.difference->position = 69; }},
      {"RECEIPT-3", [](Receipt& r) { r.matched = r.difference->position = 100; }},
      {"RECEIPT-3", [](Receipt& r) { r.difference->message_begin = 71; }},
      {"RECEIPT-4", [](Receipt& r) { r.missing.why = MissReason::kNone; }},
      {"RECEIPT-5", [](Receipt& r) { r.missing.made_by = "another engine"; }},
      {"RECEIPT-5", [](Receipt& r) { r.missing.why = MissReason::kForeign; }},
  };
  for (const auto& [name, broken] : breaks) {
    Receipt receipt = make_receipt("a");
    broken(receipt);
    EXPECT_EQ(first_word(check_receipt(receipt)), name);
  }
}

TEST(CheckReceipt, TheLastTokenIsReadInAnyCase) {
  Receipt receipt = make_receipt("a");
  receipt.matched = 100;
  receipt.restorable = receipt.restored = 99;
  receipt.recomputed = 1;
  receipt.missing = {};
  receipt.difference.reset();
  EXPECT_TRUE(check_receipt(receipt).empty());
}

TEST(CheckReceipt, APromptMayEndInsideWhatIsKnown) {
  Receipt receipt = make_receipt("a");
  receipt.matched = 100;
  receipt.difference = Difference{.position = 100, .known = {1}, .sent = {}};
  EXPECT_TRUE(check_receipt(receipt).empty());
}

TEST(MissReasons, HaveDistinctNames) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(kMissReasonLast); ++i) {
    names.insert(miss_reason_name(static_cast<MissReason>(i)));
  }
  EXPECT_EQ(names.size(), 9U);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(ReceiptLog, TheNewestComeFirstAndTheOldestGo) {
  ReceiptLog log(3);
  for (const char* id : {"a", "b", "c", "d"}) log.put(make_receipt(id));
  const auto latest = log.latest(10, "");
  ASSERT_EQ(latest.size(), 3U);
  EXPECT_EQ(latest[0].id, "d");
  EXPECT_EQ(latest[2].id, "b");
  EXPECT_EQ(log.latest(1, "").size(), 1U);
  EXPECT_TRUE(log.latest(0, "").empty());
  EXPECT_FALSE(log.find("a", "").has_value());
}

TEST(ReceiptLog, AReceiptIsReplacedWhereItStands) {
  ReceiptLog log(2);
  log.put(make_receipt("a"));
  log.put(make_receipt("b"));
  Receipt ended = make_receipt("a");
  ended.complete = true;
  log.put(ended);
  const auto latest = log.latest(10, "");
  ASSERT_EQ(latest.size(), 2U);
  EXPECT_EQ(latest[0].id, "b");
  EXPECT_TRUE(latest[1].complete);
}

TEST(ReceiptLog, IsFoundByEitherIdTheLatestOfSeveral) {
  ReceiptLog log;
  Receipt first = make_receipt("gen-1");
  Receipt second = make_receipt("gen-2");
  first.response = second.response = "chatcmpl-x";
  log.put(first);
  log.put(second);
  EXPECT_EQ(log.find("gen-1", "")->id, "gen-1");
  EXPECT_EQ(log.find("chatcmpl-x", "")->id, "gen-2");
  EXPECT_FALSE(log.find("", "").has_value());
}

// A receipt quotes its prompt: another tenant must not learn that it exists.
TEST(ReceiptLog, ShowsATenantNothingOfAnother) {
  ReceiptLog log;
  log.put(make_receipt("mine", "me"));
  log.put(make_receipt("theirs", "them"));
  EXPECT_EQ(log.latest(10, "me").size(), 1U);
  EXPECT_EQ(log.latest(10, "me")[0].id, "mine");
  EXPECT_TRUE(log.latest(10, "").empty());
  EXPECT_FALSE(log.find("theirs", "me").has_value());
  EXPECT_FALSE(log.find("chatcmpl-theirs", "me").has_value());
  EXPECT_TRUE(log.find("theirs", "them").has_value());
}

}  // namespace
}  // namespace holdfast::cache
