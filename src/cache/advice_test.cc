#include "cache/advice.h"

#include <gtest/gtest.h>

namespace holdfast::cache {
namespace {

PromptSection in_messages(Role role, int index, TokenPos begin) {
  return {.begin = begin,
          .name = "messages[" + std::to_string(index) + "]",
          .index = index,
          .role = role};
}

// A long prompt that parts from what is known early, in the client's message `message`.
Receipt parted(Role role, int message, TokenPos position = 100) {
  Receipt receipt;
  receipt.prompt_tokens = 2000;
  receipt.matched = receipt.restorable = receipt.restored = position;
  receipt.source = plan::StartSource::kMemory;
  receipt.recomputed = receipt.prompt_tokens - position;
  receipt.difference = Difference{.position = position,
                                  .known = {1},
                                  .sent = {2},
                                  .span = message + 1,
                                  .role = role,
                                  .message_begin = position - 4,
                                  .section = in_messages(role, message, position - 4)};
  return receipt;
}

Receipt parted_in_tools() {
  Receipt receipt = parted(Role::kSystem, 0);
  receipt.difference->section =
      PromptSection{.begin = 20, .name = kToolsSection, .role = Role::kSystem};
  return receipt;
}

Receipt missed(MissReason why, tree::EvictReason reason = tree::EvictReason::kNone) {
  Receipt receipt;
  receipt.prompt_tokens = 2000;
  receipt.matched = 1500;
  receipt.restorable = receipt.restored = 500;
  receipt.source = plan::StartSource::kMemory;
  receipt.recomputed = 1500;
  receipt.unix_ms = 1'794'724'892'123;
  receipt.missing = {
      .why = why, .position = 1500, .evicted = {reason, 7}, .evicted_ago_ms = 10'000.0};
  return receipt;
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Advice, AClockInTheSystemMessage) {
  EXPECT_EQ(advice_for(parted(Role::kSystem, 0), "14:03:12 on Tuesday. You", "9:59:01 on Monday."),
            "messages[0] (system) holds something that changes (\"14:03:12\" became \"9:59:01\"): "
            "move clocks, dates and ids to its end or into the last user message, or all that "
            "follows is read again.");
}

TEST(Advice, DatesCountersAndIdsChangeToo) {
  const std::pair<const char*, const char*> changes[] = {
      {"2026-11-14. You are", "2026-11-15. You are"},
      {"Tuesday, and you", "Wednesday, and you"},
      {" Nov 14", " Dec 2"},
      {"3f2a9c1e-88 is the session", "b07d41aa-19 is the session"},
      {"cch=a91f2; more", "cch=0b3d7; more"},
      {"17% of memory", "18% of memory"},
  };
  for (const auto& [known, sent] : changes) {
    const std::string advice = advice_for(parted(Role::kSystem, 0), known, sent);
    EXPECT_TRUE(mentions(advice, "last user message")) << known << " -> " << advice;
  }
}

TEST(Advice, QuotesLittleAndOnOneLine) {
  const std::string id(60, '7');
  const std::string advice = advice_for(parted(Role::kSystem, 0), id + "\n\"x\"", '8' + id);
  EXPECT_TRUE(mentions(advice, "(\"" + std::string(20, '7') + "...\" became \"8"));
  EXPECT_FALSE(mentions(advice, std::string(21, '7')));
}

TEST(Advice, AnotherSystemMessageIsNoMistake) {
  EXPECT_EQ(advice_for(parted(Role::kSystem, 0), "You are a pirate.", "Translate into French."),
            "");
}

TEST(Advice, ToolsInAnotherOrder) {
  const std::string advice =
      advice_for(parted(Role::kSystem, 0), "read_file and write_file and grep",
                 "write_file and read_file and grep");
  EXPECT_TRUE(mentions(advice,
                       "messages[0] (system) holds the same words in another order "
                       "(\"read_file\" became \"write_file\")"))
      << advice;
}

TEST(Advice, OtherTools) {
  for (Receipt receipt : {parted_in_tools(), parted(Role::kSystem, 0)}) {
    const bool named = receipt.difference->section->name == kToolsSection;
    if (!named) receipt.difference->section.reset();  // a recording has none
    const std::string advice =
        advice_for(receipt, "2\", \"description\": \"reads\"", "3\", \"description\": \"writes\"");
    EXPECT_TRUE(mentions(advice, "is not the list of before")) << advice;
    EXPECT_EQ(advice.starts_with("tools "), named) << advice;
  }
}

// Schemas hold versions and addresses; that one tool has another is no clock.
TEST(Advice, TheAddressOfASchemaIsNoClock) {
  const std::pair<const char*, const char*> changes[] = {
      {"http://json-schema.org/draft-07/schema#\"",
       "https://json-schema.org/draft/2020-12/schema\""},
      {"-07/schema#\", \"type\": \"object\"", "/2020-12/schema\", \"type\": \"object\""},
      {"$schema\": \"http://json-schema.org/draft-07/schema\"",
       "$schema\": \"http://json-schema.org/draft-06/schema\""},
  };
  for (const auto& [known, sent] : changes) {
    const std::string advice = advice_for(parted_in_tools(), known, sent);
    EXPECT_TRUE(mentions(advice, "tools is not the list of before")) << advice;
    EXPECT_FALSE(mentions(advice, "clocks")) << advice;
    EXPECT_FALSE(mentions(advice_for(parted(Role::kSystem, 0), known, sent), "clocks")) << known;
  }
}

TEST(Advice, OneMoreToolIsQuoted) {
  const std::string advice =
      advice_for(parted_in_tools(), "</tools>\n\nTo call", "{\"type\": \"function\"}");
  EXPECT_TRUE(mentions(advice, "(\"</tools>")) << advice;
}

TEST(Advice, ADateInAToolIsOne) {
  EXPECT_TRUE(
      mentions(advice_for(parted_in_tools(), "2026-11-14. Use", "2026-11-15. Use"), "dates"));
}

// Where the tools begin, a shorter system message may have ended.
TEST(Advice, AShorterSystemMessageIsNoOtherTool) {
  Receipt receipt = parted_in_tools();
  receipt.difference->section->begin = receipt.difference->position;
  EXPECT_EQ(advice_for(receipt, "And be kind.", "\n\n# Tools"), "");
}

// Two clients have the template's opening in common.
TEST(Advice, AnotherClientsToolsAreNoMistake) {
  Receipt receipt = parted_in_tools();
  receipt.difference->position = receipt.matched = 40;
  EXPECT_EQ(
      advice_for(receipt, "bash\", \"description\": \"runs", "read\", \"description\": \"reads"),
      "");
}

TEST(Advice, WordsThatBeginLikeADayAreNone) {
  EXPECT_EQ(advice_for(parted(Role::kSystem, 0), "Monitor the logs", "Decide quickly"), "");
}

constexpr AdviceFacts kKeeps{.shows_reasoning = true, .reasoning_setting = true};
constexpr AdviceFacts kShows{.shows_reasoning = true};

TEST(Advice, ReasoningThatWasNotSent) {
  for (const auto& [known, sent] : {std::pair{"<think>\nThe user wants", "The capital is"},
                                    std::pair{"The user wants", "\n</think>\n\nThe capital"}}) {
    const std::string advice = advice_for(parted(Role::kAssistant, 2), known, sent, kKeeps);
    EXPECT_TRUE(mentions(advice, "messages[2] (assistant) came back without its reasoning"))
        << advice;
    EXPECT_TRUE(mentions(advice, "send the reasoning back")) << advice;
    EXPECT_TRUE(mentions(advice, "\"preserve_thinking\": true")) << advice;
  }
}

TEST(Advice, ASettingThatTheTemplateHasNotIsNotNamed) {
  const std::string advice =
      advice_for(parted(Role::kAssistant, 2), "<think>\nThe user", "The capital", kShows);
  EXPECT_TRUE(mentions(advice, "send the reasoning back in the history.")) << advice;
}

TEST(Advice, ReasoningThatWasSentIsNotAskedForAgain) {
  Receipt receipt = parted(Role::kAssistant, 2);
  receipt.difference->section->has_reasoning = true;
  const auto advice = [&](const AdviceFacts& facts) {
    return advice_for(receipt, "<think>\nThe user wants", "The capital is", facts);
  };
  EXPECT_FALSE(mentions(advice(kKeeps), "send the reasoning"));
  EXPECT_TRUE(mentions(advice(kKeeps),
                       "messages[2] (assistant) has its reasoning, but the template "
                       "leaves it out"))
      << advice(kKeeps);
  EXPECT_EQ(advice(kShows), "") << "nobody can change that";
}

// A template that leaves old thoughts out shows those of the turn at hand.
TEST(Advice, ReasoningHelpsBetweenCallsOfTools) {
  Receipt receipt = parted(Role::kAssistant, 2);
  EXPECT_EQ(advice_for(receipt, "<think>\nThe user", "The capital", {}), "");
  receipt.difference->section->in_last_turn = true;
  EXPECT_TRUE(mentions(advice_for(receipt, "<think>\nThe user", "The capital", {}),
                       "send the reasoning back"));
}

TEST(Advice, ARecordingKnowsTheRoleOnly) {
  Receipt receipt = parted(Role::kAssistant, 2);
  receipt.difference->section.reset();
  EXPECT_TRUE(mentions(advice_for(receipt, "<think>\nThe user", "The capital"),
                       "The message of the role assistant at token 100 is without its reasoning"));
}

TEST(Advice, ASmallLossOfReasoningIsNotMentioned) {
  const Receipt receipt = parted(Role::kAssistant, 2, 1800);
  EXPECT_EQ(advice_for(receipt, "<think>\nThe user", "The capital"), "");
  EXPECT_NE(advice_for(receipt, "The capitol", "The capital"), "");
}

TEST(Advice, AnAnswerThatCameBackChanged) {
  EXPECT_TRUE(mentions(advice_for(parted(Role::kAssistant, 2), "\n\nParis.", "Paris."),
                       "other white space"));
  EXPECT_EQ(advice_for(parted(Role::kAssistant, 2), "Paris, of course", "Paris. [edited]"),
            "messages[2] (assistant) is not what is known of it (\"Paris, of course\" became "
            "\"Paris. [edited]\"): send answers back as the model wrote them.");
}

TEST(Advice, AToolResultThatWasPruned) {
  EXPECT_TRUE(mentions(advice_for(parted(Role::kTool, 5), "total 48\ndrwx", "[removed]"),
                       "messages[5] (tool) was shortened or changed"));
}

TEST(Advice, QuestionsMayDiffer) {
  EXPECT_EQ(advice_for(parted(Role::kUser, 1), "What is 12 + 30?", "What is 9 + 1?"), "");
}

TEST(Advice, GoingOnOrStoppingShortIsNoMistake) {
  EXPECT_EQ(advice_for(parted(Role::kAssistant, 2), "", "More"), "");
  EXPECT_EQ(advice_for(parted(Role::kAssistant, 2), "More", ""), "");
  EXPECT_EQ(advice_for(parted(Role::kSystem, 0, 1990), "14:03", "14:04"), "") << "ten tokens";
}

TEST(Advice, NothingMissedNothingSaid) {
  EXPECT_EQ(advice_for(Receipt{}, "", ""), "");
  EXPECT_EQ(missing_sentence(Receipt{}), "");
}

TEST(Advice, ABudgetThatIsTooSmall) {
  const Receipt receipt = missed(MissReason::kEvicted, tree::EvictReason::kBudget);
  EXPECT_EQ(advice_for(receipt, "", "", {.budget = ByteCount{2048} << 20U}),
            "The cache of 2.0 GiB had no room for it: raise --cache-ram, for example to 4096 "
            "(MiB).");
  EXPECT_EQ(advice_for(receipt, "", ""), "The cache had no room for it: raise --cache-ram.");
  Receipt measured = receipt;
  measured.missing.kept_with = (ByteCount{2500} << 20U) + 1;
  EXPECT_EQ(advice_for(measured, "", "", {.budget = ByteCount{2048} << 20U}),
            "The cache of 2.0 GiB had no room for it: raise --cache-ram, for example to 2501 "
            "(MiB).");
  EXPECT_EQ(missing_sentence(receipt),
            "The state at token 1500 was dropped at 06:41:22 UTC because the cache was full.");
  EXPECT_EQ(advice_for(missed(MissReason::kEvicted, tree::EvictReason::kCleared), "", ""), "");
}

TEST(Advice, SwitchesThatAreOff) {
  EXPECT_TRUE(mentions(advice_for(missed(MissReason::kReuseOff), "", ""), "cache_prompt"));
  EXPECT_TRUE(mentions(advice_for(missed(MissReason::kCacheOff), "", ""), "--cache-ram"));
  EXPECT_EQ(advice_for(missed(MissReason::kGrid), "", ""), "");
}

Receipt foreign(const std::string& flags) {
  Receipt receipt = missed(MissReason::kForeign);
  receipt.missing.made_by = "another engine (CPU variant haswell, here zen4)";
  receipt.missing.flags = flags;
  return receipt;
}

TEST(Advice, StatesOfAnotherEngine) {
  EXPECT_EQ(missing_sentence(foreign("")),
            "The cache folder holds states of this prompt, up to token 1500 at least, but they "
            "were made by another engine (CPU variant haswell, here zen4) and cannot be used "
            "here.");
  EXPECT_TRUE(mentions(advice_for(foreign(""), "", ""),
                       "made by another engine (CPU variant haswell, here zen4): run the server"));
  EXPECT_TRUE(mentions(advice_for(foreign("--grid-step 512"), "", ""),
                       "started with --grid-step 512; without that"));
}

// What differs from some other prompt is not why this one was read.
TEST(Advice, ForeignStatesAreNoFaultOfThePrompt) {
  Receipt receipt = foreign("");
  receipt.difference = parted(Role::kSystem, 0).difference;
  EXPECT_TRUE(mentions(advice_for(receipt, "14:03:12 on", "9:59:01 on"), "another engine"));
}

TEST(Advice, SpeaksOfWhatCostsMore) {
  Receipt receipt = missed(MissReason::kEvicted, tree::EvictReason::kBudget);
  receipt.difference = parted(Role::kTool, 5, 1500).difference;
  EXPECT_TRUE(mentions(advice_for(receipt, "a", "b"), "--cache-ram"));
  receipt.prompt_tokens = 9000;
  EXPECT_TRUE(mentions(advice_for(receipt, "a", "b"), "messages[5] (tool)"));
}

// Prompts of two clients share a template's opening and nothing else.
TEST(Advice, AColdPromptIsNotExplainedByChunks) {
  Receipt receipt = missed(MissReason::kGrid);
  receipt.matched = 11;
  receipt.restorable = receipt.restored = 0;
  receipt.source = plan::StartSource::kNothing;
  EXPECT_EQ(missing_sentence(receipt),
            "Only the first 11 tokens had been seen before, which is less than is kept; the rest "
            "is new.");
  EXPECT_TRUE(mentions(missing_sentence(missed(MissReason::kGrid)), "inside a chunk"));
}

TEST(Advice, EveryMissHasASentence) {
  for (int why = 1; why <= static_cast<int>(kMissReasonLast); ++why) {
    const std::string sentence = missing_sentence(missed(static_cast<MissReason>(why)));
    EXPECT_TRUE(sentence.ends_with('.')) << why << sentence;
  }
}

TEST(UtcText, IsIso8601) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(utc_text(1'794'724'882'123), "2026-11-15T06:41:22.123Z");
}

}  // namespace
}  // namespace holdfast::cache
