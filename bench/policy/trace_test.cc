// Traces: both formats, what is made of answers, and bad lines.
#include "policy/trace.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdlib>
#include <random>

#include "policy/path_trie.h"
#include "policy/zstd_text.h"

namespace holdfast::policy {
namespace {

constexpr const char* kTwoRequests =
    R"({"timestamp": 0, "input_length": 1100, "output_length": 500, "hash_ids": [7, 8, 9]}
{"timestamp": 2000, "input_length": 2100, "output_length": 3, "hash_ids": [7, 8, 10, 11, 12]}
)";

constexpr const char* kSession =
    R"({"id": "a", "bs": 64, "tool": 100, "sys": 60, "reqs": [)"
    R"([0.0, 200, 50, 0, [1, 2, 3], "tool_use"], [3600.0, 270, 5, 3, [4], "end_turn"]]})";

std::string error_of(const std::string& text) {
  const auto trace = parse_trace(text, "t.jsonl", {});
  return trace.ok() ? "" : trace.error().message;
}

std::string packed(const std::string& text) {
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), 3));
  return bytes;
}

TEST(Trace, ARequestALine) {
  const auto trace = parse_trace(kTwoRequests, "t", {});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->block_tokens, 512);
  ASSERT_EQ(trace->requests.size(), 2U);
  EXPECT_EQ(trace->requests[1].blocks, (std::vector<BlockId>{0, 1, 3, 4, 5}));
  EXPECT_EQ(trace->requests[1].time_ms, 2000);
}

TEST(Trace, SessionsShareTheirSystemBlocksAndNothingElse) {
  const auto trace = parse_trace(std::string(kSession) + "\n" + kSession, "t", {});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->sessions, 2U);
  ASSERT_EQ(trace->requests.size(), 4U);
  std::vector<std::vector<BlockId>> firsts;
  for (const TraceRequest& request : trace->requests) {
    EXPECT_EQ(request.system_end, 128);
    if (request.input == 200) firsts.push_back(request.blocks);
  }
  ASSERT_EQ(firsts.size(), 2U);
  EXPECT_EQ(firsts[0][1], firsts[1][1]);
  EXPECT_NE(firsts[0][2], firsts[1][2]);
}

TEST(Trace, PausesAreCappedAndLongPromptsLeftOut) {
  const auto trace = parse_trace(kSession, "t", {.input_max = 1000, .pause_max_ms = 60'000});
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->requests[1].time_ms - trace->requests[0].time_ms, 60'000);
  EXPECT_TRUE(trace->requests[0].tool_call);
  EXPECT_FALSE(trace->requests[1].tool_call);
  const auto shorter = parse_trace(kSession, "t", {.input_max = 210});
  ASSERT_TRUE(shorter.ok());
  EXPECT_EQ(shorter->requests.size(), 1U);
  EXPECT_EQ(shorter->dropped, 1U);
}

TEST(Trace, BadLinesAreNamed) {
  const std::string good = kTwoRequests;
  EXPECT_EQ(error_of(good + "{\"timestamp\": 1, \"inp"),
            "t.jsonl, line 3: is not JSON; is the file cut off?");
  EXPECT_EQ(error_of("\n[]\n"), "t.jsonl, line 2: is not a JSON object");
  EXPECT_EQ(error_of("{}"), "t.jsonl, line 1: has neither hash_ids nor reqs");
  EXPECT_EQ(error_of(good + kSession),
            "t.jsonl, line 3: is of another format than the lines before");
  const auto one = [](const std::string& input, const std::string& ids) {
    return error_of(R"({"timestamp": 0, "output_length": 1, "input_length": )" + input +
                    R"(, "hash_ids": )" + ids + "}");
  };
  EXPECT_EQ(one("600", "[1]"), "");
  EXPECT_EQ(one("600", "[1, 2]"), "");
  EXPECT_EQ(one("600", "[1, 2, 3]"), "t.jsonl, line 1: has 3 ids for 600 tokens");
  EXPECT_EQ(one("0", "[]"), "t.jsonl, line 1: input_length is too small");
  EXPECT_EQ(one("99999999999999999999", "[]"),
            "t.jsonl, line 1: input_length is not a whole number");
  EXPECT_EQ(one("512", "[-1]"), "t.jsonl, line 1: an id of hash_ids is too small");
  EXPECT_EQ(one("512", "{}"), "t.jsonl, line 1: hash_ids is not a list");
  EXPECT_EQ(one("1024", "[1, 1]"), "t.jsonl, line 1: an id stands behind two different ones");
  EXPECT_EQ(error_of(R"({"bs": 64, "tool": 0, "sys": 0, "reqs": [[0, 64, 1, 1, []]]})"),
            "t.jsonl, line 1: k is too large");
  EXPECT_NE(error_of(""), "");
}

TEST(Trace, NoMutationOfALineBreaksTheReader) {
  constexpr unsigned kSeed = 5;
  RecordProperty("seed", kSeed);
  std::mt19937 random(kSeed);
  for (int i = 0; i < 4000; ++i) {
    std::string text = i % 2 == 0 ? kTwoRequests : kSession;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 9); break;
        default: text.insert(at, 1, "0123456789[]{},-.\"e"[random() % 19]);
      }
      if (text.empty()) text = "x";
    }
    const auto trace = parse_trace(text, "t", {});
    if (!trace.ok()) continue;
    for (const Outputs outputs : {Outputs::kKeep, Outputs::kStrip}) {
      const Workload workload = make_workload(*trace, outputs);
      const PathTrie trie(workload);
      EXPECT_GT(trie.size(), 1U);
    }
  }
}

TEST(ZstdText, UnpacksAndSaysWhenItCannot) {
  const std::string text(100'000, 'x');
  const std::string bytes = packed(text);
  EXPECT_EQ(*unpack_text(bytes, "f"), text);
  EXPECT_EQ(*unpack_text("plain", "f"), "plain");
  EXPECT_EQ(unpack_text(bytes.substr(0, bytes.size() - 3), "f").error().message,
            "f ends in the middle of its compressed data");
  EXPECT_EQ(unpack_text(bytes, "f", 1000).error().message, "f is too large when unpacked");
  EXPECT_FALSE(unpack_text(bytes.substr(0, 4) + "nonsense", "f").ok());
  EXPECT_FALSE(read_text("no/such/file").ok());
}

// --- what becomes of answers --------------------------------------------------------

TEST(Workload, AFollowerLendsItsBlocksToTheTailAndTheKeptAnswer) {
  const auto trace = parse_trace(kTwoRequests, "t", {});
  ASSERT_TRUE(trace.ok());
  const Workload kept = make_workload(*trace, Outputs::kKeep);
  const Request& first = kept.requests[0];
  const Request& second = kept.requests[1];
  EXPECT_EQ(kept.common(first, second, 0, 9999), 1600) << "1100 and 500 tokens, all of them";
  const Workload stripped = make_workload(*trace, Outputs::kStrip);
  EXPECT_EQ(stripped.common(stripped.requests[0], stripped.requests[1], 0, 9999), 1100);
  EXPECT_EQ(PathTrie(kept).reusable(1), 1600);
  EXPECT_EQ(PathTrie(stripped).reusable(1), 1100);
}

TEST(Workload, AnAnswerThatDoesNotFitItsFollowerWasNotKept) {
  const auto trace = parse_trace(
      R"({"timestamp": 0, "input_length": 1024, "output_length": 900, "hash_ids": [1, 2]}
{"timestamp": 1, "input_length": 1536, "output_length": 1, "hash_ids": [1, 2, 3]})",
      "t", {});
  ASSERT_TRUE(trace.ok());
  const Workload workload = make_workload(*trace, Outputs::kKeep);
  EXPECT_EQ(workload.common(workload.requests[0], workload.requests[1], 0, 9999), 1024);
}

TEST(Workload, TokensAgreeWhereBlocksDo) {
  const auto trace = parse_trace(kTwoRequests, "t", {});
  ASSERT_TRUE(trace.ok());
  for (const Outputs outputs : {Outputs::kKeep, Outputs::kStrip}) {
    const Workload workload = make_workload(*trace, outputs);
    Tokens a;
    Tokens b;
    workload.write_tokens(workload.requests[0], a);
    workload.write_tokens(workload.requests[1], b);
    EXPECT_EQ(a.size(), 1600U);
    EXPECT_EQ(common_prefix(a, b),
              workload.common(workload.requests[0], workload.requests[1], 0, 9999));
  }
}

// HOLDFAST_TRACE=FILE: a real trace is read, and its paths are sound.
TEST(Workload, ARealTrace) {
  const char* path = std::getenv("HOLDFAST_TRACE");
  if (path == nullptr) GTEST_SKIP() << "HOLDFAST_TRACE names no trace";
  const auto trace = read_trace(path, {.requests = 2000});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const Workload workload = make_workload(*trace, Outputs::kKeep);
  const PathTrie trie(workload);
  Path at(trie);
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    at.follow(i);
    ASSERT_EQ(at.length(), workload.requests[i].total());
  }
}

}  // namespace
}  // namespace holdfast::policy
