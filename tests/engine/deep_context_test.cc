// Failure 2 of the design on the real engine: a long context with many checkpoints.
// The recurrent layers report the sequence's end as their only position; what is
// found again is decided by tokens, and a diverging request drops nothing.
//
// 20,000 tokens by default; HOLDFAST_DEEP_TOKENS=250000 for the length of the
// report that it answers.
#include <cstdlib>

#include "cached_server.h"

namespace holdfast {
namespace {

TokenPos deep_tokens() {
  const char* wanted = std::getenv("HOLDFAST_DEEP_TOKENS");
  return wanted != nullptr ? std::atoi(wanted) : 20'000;
}

class DeepContext : public ::testing::TestWithParam<TokenPos> {};

TEST_P(DeepContext, AnUnchangedPrefixIsFoundAndNothingIsDropped) {
  const TokenPos length = deep_tokens();
  llama::LlamaConfig config;
  config.context_tokens = length + 4096;
  config.slots = 1;
  config.threads = 1;
  config.ubatch = 512;
  config.warm_up = false;
  // Convolutions and windowed attention: every token costs the same.
  auto model = load_tiny("lfm2-swa", config);
  ASSERT_TRUE(model.ok()) << model.error().message;
  cache::CacheOptions options;
  options.checkpoint_every = length / GetParam();
  CachedServer server(*model->engine, ByteCount{4} << 30, options);

  const Tokens context = random_tokens(length, 1);
  const Answer cold = server.run(context + turn(20, 2));
  EXPECT_EQ(server.receipt.restored, 0);
  const auto kept = server.cache().status().snapshot_count;
  const TokenPos spacing = std::max(options.checkpoint_every, kStep);
  EXPECT_GE(kept, static_cast<std::uint64_t>(length / (spacing + kStep)));

  Tokens diverging(context.begin(), context.begin() + length / 2);
  server.run(diverging + turn(100, 3));
  EXPECT_GE(server.receipt.restored, length / 2 - spacing - kStep);
  EXPECT_GE(server.cache().status().snapshot_count, kept);

  server.run(context + turn(30, 4));
  EXPECT_GE(server.receipt.restored, length - 2 * spacing - kStep);
  EXPECT_GE(server.cache().status().snapshot_count, kept);
  EXPECT_TRUE(same_bits(server.run(context + turn(20, 2)), cold));
  EXPECT_GE(server.receipt.restored, length - 2 * spacing - kStep);
  EXPECT_EQ(server.cache().status().evicted_snapshots, 0U);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, DeepContext, ::testing::Values(32, 1000));

}  // namespace
}  // namespace holdfast
