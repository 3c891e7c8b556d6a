// What a server did, recorded and done again without it: the same decisions, the same receipts.
#include <gtest/gtest.h>
#include <algorithm>

#include <set>

#include "record/recorded_requests.h"
#include "record/replayer.h"
#include "serve/testing/recorded_traffic.h"

namespace holdfast::serve {
namespace {

struct Kind {
  std::string name;
  TrafficOptions traffic;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  const std::vector<std::pair<std::string, engine::FakeKind>> engines = {
      {"Attention", engine::FakeKind::kAttention},
      {"Windowed", engine::FakeKind::kWindowed},
      {"Recurrent", engine::FakeKind::kRecurrent},
      {"Hybrid", engine::FakeKind::kHybrid}};
  for (const auto& [name, kind] : engines) {
    for (const Exactness exact : kEachExactness) {
      TrafficOptions traffic;
      traffic.kind = kind;
      traffic.exact = exact;
      traffic.companion = kind == engine::FakeKind::kHybrid || kind == engine::FakeKind::kAttention;
      traffic.faults = true;
      traffic.seed = 17 + static_cast<unsigned>(all.size());
      all.push_back({name + exactness_name(exact), traffic});
      traffic.lower = true;
      traffic.faults = false;
      all.push_back({name + exactness_name(exact) + "ColdTier", traffic});
    }
  }
  return all;
}

class Recording : public ::testing::TestWithParam<Kind> {
 protected:
  static record::ReplayOutcome replayed(const std::string& file) {
    auto outcome = record::replay_recording(file);
    EXPECT_TRUE(outcome.ok()) << (outcome ? "" : outcome.error().message);
    return outcome ? std::move(*outcome) : record::ReplayOutcome{};
  }
  static void expect_identical(const record::ReplayOutcome& outcome) {
    for (const std::string& note : outcome.notes) ADD_FAILURE() << note;
    EXPECT_TRUE(outcome.identical());
    EXPECT_TRUE(outcome.whole) << outcome.trouble;
    EXPECT_EQ(outcome.trouble, "");
  }
};

TEST_P(Recording, ReplaysToTheSameReceipts) {
  TrafficOptions options = GetParam().traffic;
  RecordedTraffic traffic(options);
  const record::ReplayOutcome outcome = replayed(traffic.run());
  EXPECT_EQ(traffic.stopped, "");
  expect_identical(outcome);
  EXPECT_EQ(outcome.unfinished, 0U);
  // All that the server gave out are there, and they are those.
  const cache::CacheStatus status = traffic.scheduler().cache_commands().status();
  const auto ahead = std::ranges::count_if(outcome.requests, [](const auto& request) {
    return request.receipt.id.find("-prewarm-") != std::string::npos;
  });
  EXPECT_GT(ahead, 0);
  EXPECT_EQ(outcome.requests.size() - static_cast<std::size_t>(ahead), status.requests);
  EXPECT_GE(outcome.requests.size() + outcome.dropped, 200U);
  EXPECT_GT(outcome.requests.size(), 150U);
  int compared = 0;
  for (const record::ReplayedRequest& request : outcome.requests) {
    const auto given =
        traffic.scheduler().receipts().find(request.receipt.id, request.receipt.tenant);
    if (!given) continue;  // of before the cache was cleared
    ++compared;
    EXPECT_TRUE(record::compare_receipts(*given, request.receipt, false).empty());
    EXPECT_EQ(given->queued_ms, request.receipt.queued_ms);
    EXPECT_EQ(given->prompt_ms, request.receipt.prompt_ms);
    EXPECT_EQ(given->waited_for, request.receipt.waited_for);
  }
  EXPECT_GT(compared, 0);
}

// The traffic has to have what it promises, or the test above says little.
TEST(RecordedTrafficIs, Mixed) {
  std::set<plan::StartSource> sources;
  std::set<cache::RequestEnd> ends;
  std::set<cache::MissReason> reasons;
  int fetched = 0;
  int differ = 0;
  int waited = 0;
  std::uint64_t one_offs = 0;
  for (const Kind& kind : kinds()) {
    RecordedTraffic traffic(kind.traffic);
    auto outcome = record::replay_recording(traffic.run());
    ASSERT_TRUE(outcome.ok());
    for (const record::ReplayedRequest& request : outcome->requests) {
      sources.insert(request.receipt.source);
      ends.insert(request.end);
      reasons.insert(request.receipt.missing.why);
      fetched += request.receipt.fetched > 0 ? 1 : 0;
      differ += request.receipt.difference ? 1 : 0;
      waited += request.receipt.waited_for.empty() ? 0 : 1;
    }
    EXPECT_GT(traffic.scheduler().cache_commands().status().evicted_bytes, 0U) << kind.name;
    one_offs += traffic.scheduler().status().sessions.one_offs;
    if (kind.traffic.faults) {
      EXPECT_GT(traffic.scheduler().cache_commands().status().quarantined, 0U) << kind.name;
    }
  }
  EXPECT_EQ(sources.size(), 4U);
  EXPECT_EQ(ends.count(cache::RequestEnd::kCancelled) + ends.count(cache::RequestEnd::kFailed) +
                ends.count(cache::RequestEnd::kTimeout) + ends.count(cache::RequestEnd::kMaxTokens),
            4U);
  for (const cache::MissReason reason :
       {cache::MissReason::kGrid, cache::MissReason::kNeverTaken, cache::MissReason::kEvicted,
        cache::MissReason::kDamaged, cache::MissReason::kReuseOff, cache::MissReason::kForeign}) {
    EXPECT_TRUE(reasons.contains(reason)) << cache::miss_reason_name(reason);
  }
  EXPECT_GT(fetched, 20);
  EXPECT_GT(differ, 200);
  EXPECT_GT(waited, 20);
  EXPECT_GT(one_offs, 20U);
}

TEST_P(Recording, APrivateOneReplaysToTheSameReceiptsToo) {
  TrafficOptions options = GetParam().traffic;
  RecordedTraffic open(options);
  const record::ReplayOutcome named = replayed(open.run());
  options.private_form = true;
  RecordedTraffic traffic(options);
  const record::ReplayOutcome outcome = replayed(traffic.run());
  expect_identical(outcome);
  ASSERT_EQ(outcome.requests.size(), named.requests.size());
  for (std::size_t i = 0; i < named.requests.size(); ++i) {
    const auto differences =
        record::compare_receipts(named.requests[i].receipt, outcome.requests[i].replayed, true);
    for (const record::FieldDifference& one : differences) ADD_FAILURE() << one.field;
    EXPECT_EQ(outcome.requests[i].receipt.queued_ms, named.requests[i].receipt.queued_ms);
  }
}

// What a later prompt says of an earlier answer agrees with that answer, in either form.
TEST_P(Recording, IsAListOfRequestsToo) {
  TrafficOptions options = GetParam().traffic;
  RecordedTraffic traffic(options);
  const auto named = record::recorded_requests(traffic.run());
  options.private_form = true;
  RecordedTraffic again(options);
  const auto hidden = record::recorded_requests(again.run());
  ASSERT_TRUE(named.ok() && hidden.ok());
  EXPECT_TRUE(named->whole && hidden->whole);
  ASSERT_EQ(named->requests.size(), hidden->requests.size());
  ASSERT_GT(named->requests.size(), 150U);
  const auto whole_of = [](const record::RecordedRequest& request) {
    Tokens all = request.prompt;
    all.insert(all.end(), request.answer.begin(), request.answer.end());
    return all;
  };
  std::size_t answers = 0;
  for (std::size_t i = 0; i < named->requests.size(); ++i) {
    const record::RecordedRequest& a = named->requests[i];
    EXPECT_NE(std::ranges::find(traffic.prompts, a.prompt), traffic.prompts.end());
    EXPECT_LE(a.arrived_ms, a.began_ms);
    // One that failed may have lost what it had.
    EXPECT_TRUE(a.end == cache::RequestEnd::kFailed ||
                a.answer.size() + 1 >= static_cast<std::size_t>(a.answer_tokens));
    answers += a.answer.size();
    for (std::size_t k = i % 7; k < i; k += 7) {
      EXPECT_EQ(common_prefix(whole_of(a), whole_of(named->requests[k])),
                common_prefix(whole_of(hidden->requests[i]), whole_of(hidden->requests[k])));
    }
  }
  EXPECT_GT(answers, 300U);
}

// The dictionary of what was seen starts over, again and again.
TEST_P(Recording, ForgettingSequencesChangesNothing) {
  TrafficOptions options = GetParam().traffic;
  options.tokens_max = 2000;
  RecordedTraffic traffic(options);
  expect_identical(replayed(traffic.run()));
  EXPECT_EQ(traffic.stopped, "");
}

// Proofs take slots, and one that fails ends restoring: a replay has to do the same.
TEST(RecordedProofs, ReplayToTheSameReceipts) {
  for (const Exactness exact : kEachExactness) {
    SCOPED_TRACE(exactness_name(exact));
    TrafficOptions options;
    options.exact = exact;
    options.lower = true;
    options.budget = 1 << 20;
    options.wrong_after = 400;
    RecordedTraffic traffic(options);
    const auto outcome = record::replay_recording(traffic.run());
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    for (const std::string& note : outcome->notes) ADD_FAILURE() << note;
    EXPECT_TRUE(outcome->identical());
    const SchedulerStatus status = traffic.scheduler().status();
    EXPECT_GT(status.proofs.equal, 0U);
    EXPECT_EQ(status.proofs.different, 1U);
    EXPECT_NE(status.disproved, "");
    EXPECT_EQ(traffic.scheduler().cache_commands().status().resident, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Recording, ::testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace holdfast::serve
