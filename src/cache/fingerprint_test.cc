#include "cache/fingerprint.h"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::cache {
namespace {

Fingerprint facts(std::initializer_list<std::pair<const char*, const char*>> list) {
  Fingerprint fingerprint;
  for (const auto& [name, value] : list) fingerprint.add(name, value);
  return fingerprint;
}

TEST(FingerprintP1, EqualFactsGiveEqualSpaces) {
  EXPECT_EQ(facts({{"a", "1"}, {"b", "2"}}).space("t"), facts({{"a", "1"}, {"b", "2"}}).space("t"));
  EXPECT_EQ(facts({{"a", "1"}}).hex(), facts({{"a", "1"}}).hex());
}

// Disk tiers outlive a process: the numbers must not change with the machine.
TEST(FingerprintP1, TheNumbersAreTheSameEverywhere) {
  EXPECT_EQ(facts({{"model", "abc"}, {"kv", "f16"}}).hex(), "7f5aa9be36157a11a853fe7a4bc111c7");
  EXPECT_EQ(facts({{"model", "abc"}}).space("salt"),
            (SpaceKey{0xf6125833'd93ee032U, 0x965ff79a'27a0b0d5U}));
}

TEST(FingerprintP2, EveryDifferenceCounts) {
  const std::vector<Fingerprint> lists = {
      facts({}),
      facts({{"a", "1"}}),
      facts({{"a", "2"}}),
      facts({{"b", "1"}}),
      facts({{"a", ""}}),
      facts({{"", "a"}}),
      facts({{"", ""}}),
      facts({{"", ""}, {"", ""}}),
      facts({{"a", "1"}, {"b", "2"}}),
      facts({{"b", "2"}, {"a", "1"}}),
      facts({{"a", "1"}, {"a", "1"}}),
      facts({{"a", "2"}, {"b", "1"}}),
  };
  std::set<SpaceKey> spaces;
  std::set<std::string> names;
  for (const Fingerprint& list : lists) {
    spaces.insert(list.space("t"));
    names.insert(list.hex());
  }
  EXPECT_EQ(spaces.size(), lists.size());
  EXPECT_EQ(names.size(), lists.size());
}

TEST(FingerprintP2, JoinedTextsAreNotConfused) {
  const std::vector<Fingerprint> lists = {
      facts({{"ab", "cd"}}),           facts({{"a", "bcd"}}),
      facts({{"abc", "d"}}),           facts({{"abcd", ""}}),
      facts({{"a", "b"}, {"c", "d"}}), facts({{"ab", ""}, {"cd", ""}}),
      facts({{"", "ab"}, {"", "cd"}}),
  };
  std::set<SpaceKey> spaces;
  for (const Fingerprint& list : lists) spaces.insert(list.space(""));
  EXPECT_EQ(spaces.size(), lists.size());
}

TEST(FingerprintP2, TenantsShareNothing) {
  const Fingerprint one = facts({{"a", "1"}});
  EXPECT_NE(one.space("ann"), one.space("bob"));
  EXPECT_NE(one.space(""), one.space("ann"));
  EXPECT_NE(one.space("ann"), one.space(std::string_view("ann\0", 4)));
}

TEST(FingerprintP3, ASaltIsNoFact) {
  const SpaceKey plain = facts({{"a", "1"}, {"b", ""}}).space("");
  for (const char* salt : {"b", "a1", "a=1"}) EXPECT_NE(facts({{"a", "1"}}).space(salt), plain);
}

TEST(Fingerprint, DescribesItselfInOneLine) {
  EXPECT_EQ(facts({{"model", "3f2a"}, {"kv", "f16/f16"}}).describe(), "model=3f2a kv=f16/f16");
  EXPECT_EQ(facts({{"a", "x\ny"}}).describe(), "a=x?y");
  EXPECT_EQ(Fingerprint().describe(), "");
}

}  // namespace
}  // namespace holdfast::cache
