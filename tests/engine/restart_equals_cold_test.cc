// H1 across restarts, on the real engine and a real folder: what comes back from disk gives
// the logits of a run that has seen nothing, bit for bit, over 30 decoded tokens.
#include "cached_server.h"
#include "tier/cache_folder.h"
#include "tier/testing/temp_folder.h"

namespace holdfast {
namespace {

Result<llama::LoadedModel> load(const std::string& arch, bool quantised) {
  llama::LlamaConfig config = small_config();
  config.flash_attention = llama::FlashAttention::kOn;
  if (quantised) config.cache_type_k = config.cache_type_v = "q8_0";
  if (arch != "pocket") return load_tiny(arch, config);
  config.model_path = HOLDFAST_POCKET_MODEL_PATH;
  config.draft_source = DraftSource::kMtp;
  return llama::load_llama_model(config, nullptr);
}

// A server's life over a folder that outlives it.
class Life {
 public:
  Life(llama::LoadedModel& model, const std::string& folder)
      : folder_(open(folder)), tier_(*folder_, known_, clock_) {
    model.engine->clear(kSlot);
    server.emplace(*model.engine, kAmple, cache::CacheOptions{}, model.companion.get(), &tier_);
  }
  [[nodiscard]] tier::DiskStore& store() { return *folder_; }
  std::optional<CachedServer> server;

 private:
  tier::CacheFolder open(const std::string& folder) {
    tier::DiskOptions options;
    options.budget = kAmple;
    options.stored_depths = known_;
    auto opened = tier::CacheFolder::open(folder, options, clock_.unix_ms());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return std::move(*opened);
  }

  env::SteadyClock clock_;
  std::shared_ptr<tier::StoredDepths> known_ = std::make_shared<tier::StoredDepths>();
  tier::CacheFolder folder_;
  cache::DiskTier tier_;
};

class RestartEqualsCold : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  void SetUp() override {
    const auto& [arch, quantised] = GetParam();
    auto loaded = load(arch, quantised);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    model_ = std::move(*loaded);
  }
  Answer cold(const Tokens& prompt) {
    model_.engine->clear(kSlot);
    CachedServer fresh(*model_.engine, 0, {}, model_.companion.get());
    return fresh.run(prompt);
  }
  llama::LoadedModel model_;
  tier::TempFolder folder_;
};

TEST_P(RestartEqualsCold, WhateverIsAskedFirst) {
  const Tokens system = turn(90, 1);
  const Tokens header = random_tokens(3, 9);
  const Tokens first = system + turn(400, 2);
  const Tokens second = first + header + cold(first + header).tokens + Tokens{kTurnEnd};
  Tokens edited = first + header;
  edited[300] = (edited[300] + 1) % 256;
  struct Step {
    const char* name;
    Tokens prompt;
    TokenPos restored_at_least;
  };
  // The whole prompt, unless a window's layout shows.
  const bool window = model_.engine->shape().find(PartKind::kWindow) != nullptr;
  const std::vector<Step> steps = {
      {"the same", second + header, length_of(second) + (window ? 0 : length_of(header))},
      {"a turn before", first + header, length_of(first)},
      {"continue", second + turn(70, 3) + header, length_of(first)},
      {"a token differs", edited, 0},
      {"a branch", system + turn(100, 4) + header, 0},
      {"another conversation", turn(120, 5) + header, 0},
  };
  {
    Life life(model_, folder_ / "states");
    life.server->run(first + header);
    life.server->end();
    life.server->run(second + header);
    life.server->end();
    EXPECT_EQ(life.store().check(), std::vector<std::string>{});
    EXPECT_GT(life.store().stats().stored, 0U);
  }
  for (const Step& step : steps) {
    SCOPED_TRACE(step.name);
    const Answer wanted = cold(step.prompt);
    Life life(model_, folder_ / "states");
    const Answer warm = life.server->run(step.prompt);
    EXPECT_TRUE(same_bits(warm, wanted));
    const cache::Receipt& receipt = life.server->receipt;
    EXPECT_GE(receipt.restored, step.restored_at_least);
    EXPECT_EQ(receipt.fetched > 0, receipt.restored > 0);
    EXPECT_EQ(cache::check_receipt(receipt), std::vector<std::string>{});
    if (model_.companion && receipt.restored > 0) {
      EXPECT_EQ(receipt.companion->held, receipt.restored) << receipt.companion->missing;
    }
    life.server->end();
  }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<std::string, bool>>& info) {
  std::string name = std::get<0>(info.param) + (std::get<1>(info.param) ? "_q8" : "_f16");
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Models, RestartEqualsCold,
    ::testing::Combine(::testing::Values("qwen35", "qwen35moe", "qwen3next", "jamba", "falcon-h1",
                                         "nemotron_h", "granitehybrid", "lfm2", "kimi-linear",
                                         "mamba2", "gemma3", "llama", "pocket"),
                       ::testing::Bool()),
    name_of);

}  // namespace
}  // namespace holdfast
