#include "cache/space_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace holdfast::cache {
namespace {

const std::string kEngine = "llama.cpp 0.5.0 (CPU : SSE3 = 1 | AVX = 1 | BMI2 = 1 | )";

Facts facts_with(const Facts& changed) {
  Facts facts = {{"model", "3f2a"},     {"engine", kEngine}, {"variant", "zen4"},
                 {"buffers", "plain"},  {"kv", "f16/f16"},   {"flash", "0"},
                 {"swa-full", "0"},     {"stretched", "0"},  {"rope", "/0.0/0.0"},
                 {"device", "/-1//0/"}, {"ubatch", "512"},   {"grid", "256"},
                 {"mode", "throughput"}};
  for (const Fact& change : changed) {
    const auto found = std::ranges::find(facts, change.name, &Fact::name);
    if (found == facts.end()) {
      facts.push_back(change);
    } else {
      found->value = change.value;
    }
  }
  return facts;
}

Facts facts_without(const std::string& name) {
  Facts facts = facts_with({});
  std::erase_if(facts, [&](const Fact& fact) { return fact.name == name; });
  return facts;
}

std::string words(const Facts& theirs) { return made_by(theirs, facts_with({})); }
std::string flags(const Facts& theirs) { return flags_for(theirs, facts_with({})); }

TEST(SpaceFacts1, ReadsBackWhatAFingerprintSays) {
  const Facts facts = facts_with({});
  EXPECT_EQ(parse_facts(as_fingerprint(facts).describe()), facts);
  EXPECT_EQ(as_fingerprint(parse_facts(as_fingerprint(facts).describe())).space("salt"),
            as_fingerprint(facts).space("salt"));
}

TEST(SpaceFacts1, ValuesMayBeEmptyOrHoldBlanksAndEqualSigns) {
  const Facts expected = {{"rope", ""}, {"engine", "a = b (C=1 x) -d=2"}, {"kv", " f16 "}};
  EXPECT_EQ(parse_facts("rope= engine=a = b (C=1 x) -d=2 kv= f16 "), expected);
}

TEST(SpaceFacts2, OtherTextsHaveNone) {
  for (const char* text : {"", " ", "=", "=1", " kv=1", "Kv=1", "kv", "kv =1", "2=3", "-a=1", "{}"})
    EXPECT_TRUE(parse_facts(text).empty()) << text;
}

TEST(SpaceFacts2, AnyTextMayBeGiven) {
  std::mt19937 random(7);
  constexpr std::string_view kLetters = "ab-= =|\n\xc3\xa4\x7f/";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t i = random() % 40; i > 0; --i) text += kLetters[random() % kLetters.size()];
    const Facts facts = parse_facts(text);
    std::string again;
    for (const Fact& fact : facts)
      again += (again.empty() ? "" : " ") + fact.name + "=" + fact.value;
    EXPECT_TRUE(facts.empty() || again == text) << text;
    for (const char c : made_by(facts, facts_with({})))
      EXPECT_GE(static_cast<unsigned char>(c), 32);
  }
}

TEST(SpaceFacts3, EqualListsDoNotDiffer) {
  EXPECT_TRUE(differences(facts_with({}), facts_with({})).empty());
  EXPECT_EQ(words(facts_with({})), "");
  EXPECT_EQ(flags(facts_with({})), "");
}

TEST(SpaceFacts3, WordsAreShortAndPrintable) {
  const std::string text = words(facts_with({{"grid", "\x1b[2J\n" + std::string(500, 'x')}}));
  EXPECT_LT(text.size(), 130U);
  for (const char c : text) EXPECT_GE(c, ' ');
  std::string longer(59, 'x');
  longer += "\xc3\xa4\xc3\xa4";
  const std::string umlauts = words(facts_with({{"grid", longer}}));
  EXPECT_NE(umlauts.find("x\xc3\xa4..., here 256"), std::string::npos) << umlauts;
}

TEST(SpaceFacts, AnotherEngine) {
  EXPECT_EQ(words(facts_with({{"variant", "haswell"}})),
            "another engine (CPU variant haswell, here zen4)");
  EXPECT_EQ(words(facts_with({{"buffers", "extra"}})),
            "another engine (buffers extra, here plain)");
  EXPECT_EQ(words(facts_with({{"engine", "llama.cpp 0.4.9 (CPU : )"}})),
            "another engine (llama.cpp 0.4.9, here llama.cpp 0.5.0)");
  EXPECT_EQ(
      words(facts_with({{"engine", "llama.cpp 0.5.0 (CPU : SSE3 = 1 | AVX = 1 | FMA = 1 | )"}})),
      "another engine (another build with FMA = 1, without BMI2 = 1)");
  EXPECT_EQ(flags(facts_with({{"variant", "haswell"}})), "");
}

TEST(SpaceFacts, AnotherVariantExplainsItsFeatures) {
  EXPECT_EQ(words(facts_with({{"engine", "llama.cpp 0.5.0 (CPU : )"}, {"variant", "haswell"}})),
            "another engine (CPU variant haswell, here zen4)");
}

TEST(SpaceFacts, ANoteOfBeforeThereWasTheFact) {
  EXPECT_EQ(words(facts_without("variant")), "another engine (CPU variant not noted, here zen4)");
  EXPECT_EQ(words(facts_with({{"later", "1"}})),
            "a server with other settings (later 1, here not noted)");
}

TEST(SpaceFacts, SettingsAreNamedByTheirFlags) {
  EXPECT_EQ(words(facts_with({{"grid", "512"}})),
            "a server with other settings (--grid-step 512, here 256)");
  EXPECT_EQ(flags(facts_with({{"grid", "512"}})), "--grid-step 512");
  EXPECT_EQ(words(facts_with({{"kv", "q8_0/f16"}})),
            "a server with other settings (--cache-type-k q8_0, here f16)");
  EXPECT_EQ(flags(facts_with({{"kv", "q8_0/q8_0"}, {"flash", "1"}})),
            "--cache-type-k q8_0 --cache-type-v q8_0 --flash-attn on");
  EXPECT_EQ(words(facts_with({{"device", "none/-1//0/"}})),
            "a server with other settings (--device none, here default)");
  EXPECT_EQ(words(facts_with({{"stretched", "1"}})),
            "a server with other settings (a context beyond the model's original length, here a "
            "context within "
            "the model's original length)");
}

TEST(SpaceFacts, FlagsAreNamedOnlyWhereTheyAreEnough) {
  EXPECT_EQ(flags(facts_with({{"grid", "512"}, {"variant", "haswell"}})), "");
  EXPECT_EQ(flags(facts_with({{"grid", "512"}, {"stretched", "1"}})), "");
  EXPECT_EQ(flags(facts_with({{"device", "/40//0/"}})), "--gpu-layers 40");
  EXPECT_EQ(flags_for(facts_with({}), facts_with({{"device", "/40//0/"}})), "")
      << "-1 is a default";
}

TEST(SpaceFacts, AnotherMode) {
  const Facts exact = facts_with({{"mode", "deterministic"}, {"threads", "4/4"}});
  EXPECT_EQ(words(exact),
            "a server with other settings (exact prompts, here prompts that are not exact)");
  EXPECT_EQ(flags(exact), "");
  EXPECT_EQ(flags_for(facts_with({}), exact), "--exact off");
  EXPECT_EQ(made_by(exact, facts_with({{"mode", "deterministic"}, {"threads", "4/2"}})),
            "a server with other settings (--threads-batch 4, here 2)");
}

TEST(SpaceFacts, EngineAndSettingsTogether) {
  EXPECT_EQ(
      words(facts_with({{"variant", "haswell"}, {"grid", "512"}, {"ubatch", "256"}})),
      "another engine (CPU variant haswell, here zen4) with other settings (--ubatch-size 256, "
      "here 512; --grid-step 512, here 256)");
}

TEST(SpaceFacts, AnotherModelSaysItAll) {
  EXPECT_EQ(words(facts_with({{"model", "77"}, {"grid", "512"}})), "another model file");
  EXPECT_EQ(flags(facts_with({{"model", "77"}})), "");
}

TEST(SpaceFacts, ListsThatLookAlikeAreToldApart) {
  const std::string fewer = "llama.cpp 0.5.0 (CPU : SSE3 = 1 | AVX = 1 | )";
  const std::vector<Facts> by_grid = {facts_with({}), facts_with({{"grid", "512"}}),
                                      facts_with({{"grid", "512"}, {"later", "1"}})};
  EXPECT_EQ(telling_apart(by_grid),
            (std::vector<Facts>{
                {{"grid", "256"}}, {{"grid", "512"}}, {{"grid", "512"}, {"later", "1"}}}));
  const std::vector<Facts> by_build = {facts_with({}), facts_with({{"engine", fewer}})};
  EXPECT_EQ(telling_apart(by_build),
            (std::vector<Facts>{{{"engine", "(BMI2 = 1)"}}, {{"engine", "(fewer features)"}}}));
  const std::vector<Facts> by_variant = {facts_with({}),
                                         facts_with({{"engine", fewer}, {"variant", "haswell"}})};
  EXPECT_EQ(telling_apart(by_variant),
            (std::vector<Facts>{{{"variant", "zen4"}}, {{"variant", "haswell"}}}));
  const std::vector<Facts> by_version = {facts_with({}),
                                         facts_with({{"engine", "llama.cpp 0.4.9 (CPU : )"}})};
  EXPECT_EQ(telling_apart(by_version)[1], (Facts{{"engine", "llama.cpp 0.4.9 (CPU :)"}}));
  EXPECT_EQ(telling_apart(std::vector<Facts>{facts_with({}), facts_with({})}),
            (std::vector<Facts>{{}, {}}));
}

TEST(SpaceFacts, AListThatDiffersInItsOrderIsNotOurs) {
  Facts turned = facts_with({});
  std::swap(turned.front(), turned.back());
  EXPECT_EQ(words(turned), "another version of Holdfast");
}

}  // namespace
}  // namespace holdfast::cache
