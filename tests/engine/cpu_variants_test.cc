// The pocket model on every processor variant that this machine can run, one after the other in one
// process: answers of several slots together are those of each alone, and the check agrees.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/conformance.h"
#include "engine/ladder.h"
#include "engine/llama/llama_backends.h"
#include "engine/llama/llama_config.h"

namespace holdfast {
namespace {

constexpr int kSlots = 4;
constexpr int kRounds = 2;
constexpr int kAnswerTokens = 16;

llama::LlamaConfig pocket(const std::string& variant, bool extra_buffers = true) {
  llama::LlamaConfig config;
  config.model_path = HOLDFAST_POCKET_MODEL_PATH;
  config.cpu_variant = variant;
  config.extra_buffers = extra_buffers;
  config.context_tokens = 512;
  config.slots = kSlots;
  config.threads = 1;  // tests share their cores
  config.draft_source = DraftSource::kNgram;
  config.draft_tokens_max = 3;
  return config;
}

Tokens prompt_of(const engine::TextModel& text, int number) {
  return text.tokenize("<|im_start|>user\nMy cat is called Minka" + std::to_string(number) +
                           ". What is my cat called?<|im_end|>\n<|im_start|>assistant\n",
                       true, true);
}

Token likeliest(std::span<const float> row) {
  return static_cast<Token>(std::ranges::max_element(row) - row.begin());
}

// Greedy answers of these slots, each with a prompt of its own; decoded in one batch, or alone.
std::vector<Tokens> answers(llama::LoadedModel& model, int round, bool together) {
  engine::Engine& engine = *model.engine;
  std::vector<Tokens> out(kSlots);
  std::vector<Token> next(kSlots);
  for (int i = 0; i < kSlots; ++i) {
    const Tokens prompt = prompt_of(*model.text, round * kSlots + i);
    EXPECT_TRUE(engine.prefill(SlotId{i}, prompt, engine::LogitsOf::kLastToken).ok());
    next[static_cast<std::size_t>(i)] = likeliest(engine.logits(SlotId{i}));
  }
  for (int step = 0; step < kAnswerTokens; ++step) {
    std::vector<engine::DecodeStep> steps;
    for (std::size_t i = 0; i < kSlots; ++i) {
      out[i].push_back(next[i]);
      steps.push_back({SlotId{static_cast<int>(i)}, {&next[i], 1}});
    }
    const auto take = [&](std::size_t i) {
      next[i] = likeliest(engine.logits(SlotId{static_cast<int>(i)}));
    };
    if (together) {
      EXPECT_TRUE(engine.decode(steps).ok());
      for (std::size_t i = 0; i < kSlots; ++i) take(i);
      continue;
    }
    for (std::size_t i = 0; i < kSlots; ++i) {
      EXPECT_TRUE(engine.decode({&steps[i], 1}).ok());
      take(i);
    }
  }
  for (int i = 0; i < kSlots; ++i) engine.clear(SlotId{i});
  return out;
}

int different_answers(llama::LoadedModel& model) {
  int different = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto alone = answers(model, round, false);
    const auto together = answers(model, round, true);
    for (std::size_t i = 0; i < kSlots; ++i) different += alone[i] == together[i] ? 0 : 1;
  }
  return different;
}

engine::ConformanceReport check(llama::LoadedModel& model) {
  engine::ConformanceOptions options;
  options.chunk = 64;
  return engine::check_conformance(*model.engine, options);
}

TEST(CpuVariants, EveryTrustedOneAnswersAloneAsTogether) {
  int tried = 0;
  for (const llama::CpuVariant& variant : llama::cpu_variants()) {
    if (!variant.runs() || !variant.distrust.empty()) continue;
    SCOPED_TRACE(variant.name);
    auto model = llama::load_llama_model(pocket(variant.name), nullptr);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(llama::cpu_variant_in_use(), variant.name);
    EXPECT_EQ(different_answers(*model), 0);
    const engine::ConformanceReport report = check(*model);
    EXPECT_TRUE(report.passed()) << engine::fault_in_words(report);
    ++tried;
  }
  EXPECT_GE(tried, 1);
  std::printf("%d variants\n", tried);
}

// Where the processor can run a variant that is known to be wrong, the check exposes it, and a rung
// below is right.
TEST(CpuVariants, ADistrustedOneIsExposedAndAvoided) {
  const auto distrusted = [](const llama::CpuVariant& v) {
    return v.runs() && !v.distrust.empty();
  };
  if (!std::ranges::any_of(llama::cpu_variants(), distrusted)) GTEST_SKIP() << "none runs here";
  for (const llama::CpuVariant& variant : llama::cpu_variants()) {
    if (!variant.runs() || variant.distrust.empty()) continue;
    SCOPED_TRACE(variant.name);
    std::optional<llama::LoadedModel> model;
    const engine::EngineSetting asked{variant.name, true, true, true};
    const std::vector<std::string> none;
    const auto climbed = engine::climb(
        engine::rungs_from(asked, none),
        [&](const engine::EngineSetting& setting) -> Result<engine::ConformanceReport> {
          model.reset();
          auto loaded =
              llama::load_llama_model(pocket(setting.cpu_variant, setting.extra_buffers), nullptr);
          if (!loaded) return loaded.error();
          model = std::move(*loaded);
          return check(*model);
        });
    ASSERT_TRUE(climbed.ok()) << climbed.error().message;
    std::printf("%s: %s -> %s\n", variant.name.c_str(), climbed->fault.c_str(),
                climbed->rung.words.c_str());
    EXPECT_NE(climbed->fault, "");
    EXPECT_EQ(climbed->rung.words, "without extra buffer types");
    EXPECT_EQ(different_answers(*model), 0);
  }
}

TEST(CpuVariants, TheBestTrustedOneIsTakenUnasked) {
  const auto variants = llama::cpu_variants();
  ASSERT_FALSE(variants.empty());
  EXPECT_TRUE(variants.front().runs());
  EXPECT_EQ(variants.front().distrust, "");
  for (const llama::CpuVariant& variant : variants) {
    if (variant.runs() && variant.distrust.empty()) {
      EXPECT_LE(variant.score, variants.front().score);
    }
  }
}

TEST(CpuVariants, OneThatIsNotThereIsRefusedWithThoseThatAre) {
  const auto refused = llama::load_llama_model(pocket("zen9"), nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().param, "--cpu-variant");
  EXPECT_NE(refused.error().message.find(llama::cpu_variants().front().name), std::string::npos);
}

}  // namespace
}  // namespace holdfast
