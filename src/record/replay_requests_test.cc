#include "record/replay_requests.h"

#include <gtest/gtest.h>

namespace holdfast::record {
namespace {

RecordingHeader small_header() {
  RecordingHeader header;
  header.slots = 1;
  header.context_tokens = 1024;
  header.chunk_tokens_max = 64;
  return header;
}

CacheEvent prompt_of(std::uint64_t number, std::size_t tokens) {
  CacheEvent event;
  event.kind = EventKind::kPrompt;
  event.request = number;
  event.tokens.assign(tokens, 7);
  event.cuts = {static_cast<TokenPos>(tokens)};
  return event;
}

// REQUESTS-1: a file cannot make a replay hold more prompts than fit.
TEST(ReplayRequests, Requests1RefusesMoreTokensThanFit) {
  const ReplayedCache cache(small_header());
  ReplayRequests requests(cache, 100);
  EXPECT_TRUE(requests.add(prompt_of(1, 60)));
  EXPECT_TRUE(requests.add(prompt_of(2, 40)));
  EXPECT_FALSE(requests.add(prompt_of(3, 1)));
  EXPECT_EQ(requests.count(), 2U);
}

TEST(ReplayRequests, AForgottenRequestMakesRoom) {
  const ReplayedCache cache(small_header());
  ReplayRequests requests(cache, 100);
  EXPECT_TRUE(requests.add(prompt_of(1, 60)));
  requests.forget(1);
  EXPECT_EQ(requests.find(1), nullptr);
  EXPECT_TRUE(requests.add(prompt_of(2, 100)));
}

TEST(ReplayRequests, ANumberIsUsedOnceAtATime) {
  const ReplayedCache cache(small_header());
  ReplayRequests requests(cache);
  EXPECT_TRUE(requests.add(prompt_of(1, 5)));
  const LiveRequest* first = requests.find(1);
  ASSERT_NE(first, nullptr);
  EXPECT_FALSE(requests.add(prompt_of(1, 6)));
  EXPECT_EQ(requests.find(1), first);
  EXPECT_EQ(first->view().tokens.size(), 5U);
}

}  // namespace
}  // namespace holdfast::record
