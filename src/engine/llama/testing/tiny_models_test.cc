#include "engine/llama/testing/tiny_models.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/llama/llama_backends.h"
#include "ggml-backend.h"
#include "llama-ext.h"

namespace holdfast::llama {
namespace {

using Tokens = std::vector<llama_token>;
using Logits = std::vector<float>;

constexpr std::uint64_t kSeed = 1;
constexpr int kPromptLength = 200;
constexpr int kChunk = 64;

class Backends : public testing::Environment {
 public:
  void SetUp() override {
    llama_log_set(
        [](ggml_log_level level, const char* text, void*) {
          if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
        },
        nullptr);
    ASSERT_TRUE(use_cpu_variant("").ok());
  }
};
const auto* const kBackends = testing::AddGlobalTestEnvironment(new Backends);

LlamaModelPtr make(const TinySpec& spec, std::uint64_t seed = kSeed) {
  Result<LlamaModelPtr> model = make_tiny_model(spec, seed);
  EXPECT_TRUE(model.ok());
  return model.ok() ? std::move(model).value() : nullptr;
}

LlamaContextPtr make_context(llama_model* model,
                             llama_context_type type = LLAMA_CONTEXT_TYPE_DEFAULT) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 512;
  params.n_threads = params.n_threads_batch = 1;
  params.ctx_type = type;
  return LlamaContextPtr(llama_init_from_model(model, params));
}

// Some prompt, another for each `which`; control tokens are in it too.
Tokens random_prompt(std::uint32_t which) {
  Tokens tokens(kPromptLength);
  std::uint32_t state = which * 2654435761u + 1;
  for (llama_token& token : tokens) {
    state = state * 1664525u + 1013904223u;
    token = static_cast<llama_token>((state >> 8) % kTinyVocabSize);
  }
  return tokens;
}

Logits logits_of_last(llama_context* context) {
  const float* logits = llama_get_logits_ith(context, -1);
  return Logits(logits, logits + kTinyVocabSize);
}

Logits decode(llama_context* context, Tokens tokens) {
  for (std::size_t done = 0; done < tokens.size(); done += kChunk) {
    const auto count = static_cast<int>(std::min<std::size_t>(kChunk, tokens.size() - done));
    EXPECT_EQ(llama_decode(context, llama_batch_get_one(tokens.data() + done, count)), 0);
  }
  return logits_of_last(context);
}

Logits prompt_logits(llama_model* model, const Tokens& prompt) {
  const LlamaContextPtr context = make_context(model);
  return decode(context.get(), prompt);
}

bool all_finite(const Logits& logits) {
  return std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); });
}

float largest_difference(const Logits& a, const Logits& b) {
  return std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0f, [](float x, float y) { return std::max(x, y); },
      [](float x, float y) { return std::abs(x - y); });
}

std::filesystem::path scratch_file(std::string_view arch) {
  return std::filesystem::path(testing::TempDir()) /
         ("tiny_" + std::string(arch) + "_" + std::to_string(getpid()) + ".gguf");
}

LlamaModelPtr load(const std::filesystem::path& path, bool with_mtp = false) {
  llama_model_params params = llama_model_default_params();
  params.load_mtp = with_mtp;
  return LlamaModelPtr(llama_model_load_from_file(path.c_str(), params));
}

Tokens tokenize(const llama_model* model, const std::string& text) {
  Tokens tokens(text.size());
  const int count =
      llama_tokenize(llama_model_get_vocab(model), text.data(), static_cast<int>(text.size()),
                     tokens.data(), static_cast<int>(tokens.size()),
                     /*add_special=*/true, /*parse_special=*/true);
  tokens.resize(std::max(count, 0));
  return tokens;
}

std::string detokenize(const llama_model* model, const Tokens& tokens) {
  std::string text(tokens.size() * 16, '\0');
  const int size =
      llama_detokenize(llama_model_get_vocab(model), tokens.data(), static_cast<int>(tokens.size()),
                       text.data(), static_cast<int>(text.size()),
                       /*remove_special=*/false, /*unparse_special=*/true);
  text.resize(std::max(size, 0));
  return text;
}

class TinyModel : public testing::TestWithParam<std::string_view> {};

TEST_P(TinyModel, LogitsAreFiniteAndSpread) {
  const LlamaModelPtr model = make({.arch = GetParam()});
  ASSERT_NE(model, nullptr);
  const Logits logits = prompt_logits(model.get(), random_prompt(0));
  EXPECT_TRUE(all_finite(logits));
  const auto [low, high] = std::ranges::minmax(logits);
  EXPECT_GT(high - low, 3);
  EXPECT_LT(high - low, 60);
}

// The distance is what a sliding window of 64 still sees through two layers.
TEST_P(TinyModel, LogitsDependOnATokenOneHundredBack) {
  const LlamaModelPtr model = make({.arch = GetParam()});
  ASSERT_NE(model, nullptr);
  const Tokens prompt = random_prompt(0);
  Tokens changed = prompt;
  changed[kPromptLength - 100] ^= 1;
  EXPECT_GT(
      largest_difference(prompt_logits(model.get(), prompt), prompt_logits(model.get(), changed)),
      0.05);
}

TEST_P(TinyModel, SeedDecidesTheLogits) {
  const Tokens prompt = random_prompt(0);
  const Logits logits = prompt_logits(make({.arch = GetParam()}, 1).get(), prompt);
  EXPECT_EQ(logits, prompt_logits(make({.arch = GetParam()}, 1).get(), prompt));
  EXPECT_GT(largest_difference(logits, prompt_logits(make({.arch = GetParam()}, 2).get(), prompt)),
            1);
}

TEST_P(TinyModel, FileComputesTheSameLogits) {
  const std::filesystem::path path = scratch_file(GetParam());
  ASSERT_TRUE(write_tiny_model({.arch = GetParam()}, kSeed, path).ok());
  const LlamaModelPtr loaded = load(path);
  std::filesystem::remove(path);
  ASSERT_NE(loaded, nullptr);
  const Tokens prompt = random_prompt(0);
  EXPECT_EQ(prompt_logits(loaded.get(), prompt),
            prompt_logits(make({.arch = GetParam()}).get(), prompt));
}

TEST_P(TinyModel, TextIsOneTokenPerByte) {
  const LlamaModelPtr model = make({.arch = GetParam()});
  ASSERT_NE(model, nullptr);
  const std::string text = "<|im_start|>Tab\t \xc3\xa9\n<|im_end|>";
  const Tokens expected = {kTinyImStart, 'T', 'a', 'b', '\t', ' ', 0xc3, 0xa9, '\n', kTinyImEnd};
  EXPECT_EQ(tokenize(model.get(), text), expected);
  EXPECT_EQ(detokenize(model.get(), expected), text);
}

INSTANTIATE_TEST_SUITE_P(All, TinyModel,
                         testing::ValuesIn(tiny_architectures().begin(),
                                           tiny_architectures().end()),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(TinyModels, MemoryIsOfTheKindTheArchitectureHas) {
  enum Kind { kAttention, kHybrid, kRecurrent };
  const std::map<std::string_view, Kind> not_hybrid = {
      {"mamba", kRecurrent},    {"mamba2", kRecurrent},    {"gemma3", kAttention},
      {"gpt-oss", kAttention},  {"llama", kAttention},     {"qwen3", kAttention},
      {"qwen3moe", kAttention}, {"llama-moe", kAttention}, {"deepseek2", kAttention}};
  for (std::string_view arch : tiny_architectures()) {
    const LlamaModelPtr model = make({.arch = arch});
    const Kind kind = not_hybrid.contains(arch) ? not_hybrid.at(arch) : kHybrid;
    EXPECT_EQ(llama_model_is_hybrid(model.get()), kind == kHybrid) << arch;
    EXPECT_EQ(llama_model_is_recurrent(model.get()), kind == kRecurrent) << arch;
    const bool windowed = arch == "gemma3" || arch == "gpt-oss" || arch == "lfm2-swa";
    EXPECT_EQ(llama_model_n_swa(model.get()), windowed ? static_cast<int>(kTinySlidingWindow) : 0)
        << arch;
  }
}

TEST(TinyModels, TokensThatEndATurnEndGeneration) {
  const LlamaModelPtr model = make({.arch = "llama"});
  const llama_vocab* vocab = llama_model_get_vocab(model.get());
  EXPECT_EQ(llama_vocab_n_tokens(vocab), kTinyVocabSize);
  EXPECT_TRUE(llama_vocab_is_eog(vocab, kTinyImEnd));
  EXPECT_TRUE(llama_vocab_is_control(vocab, kTinyImStart));
  EXPECT_FALSE(llama_vocab_is_control(vocab, kTinyThink));
  EXPECT_NE(llama_model_chat_template(model.get(), nullptr), nullptr);
}

TEST(TinyModels, GreedyTextIsMostlyPrintable) {
  const LlamaModelPtr model = make({.arch = "qwen35"});
  const LlamaContextPtr context = make_context(model.get());
  Logits logits = decode(context.get(), random_prompt(0));
  int printable = 0;
  for (int i = 0; i < 100; ++i) {
    const auto best = static_cast<llama_token>(std::ranges::max_element(logits) - logits.begin());
    printable += best >= 0x20 && best <= 0x7e ? 1 : 0;
    logits = decode(context.get(), {best});
  }
  EXPECT_GE(printable, 80);
}

// Runs the MTP block of `model` over `tokens`, each beside the trunk's hidden
// state of the token before it; returns what it drafts after the last one.
Logits draft_logits(llama_model* model, Tokens tokens) {
  const LlamaContextPtr trunk = make_context(model);
  llama_set_embeddings_nextn(trunk.get(), true, /*masked=*/false);
  const auto count = static_cast<int>(tokens.size());
  EXPECT_EQ(llama_decode(trunk.get(), llama_batch_get_one(tokens.data(), count)), 0);

  const int width = llama_model_n_embd(model);
  const float* hidden = llama_get_embeddings_nextn(trunk.get());
  std::vector<float> shifted(width, 0.0f);
  shifted.insert(shifted.end(), hidden, hidden + (count - 1) * width);

  const LlamaContextPtr drafter = make_context(model, LLAMA_CONTEXT_TYPE_MTP);
  llama_batch batch = llama_batch_get_one(tokens.data(), count);
  batch.embd = shifted.data();
  EXPECT_EQ(llama_decode(drafter.get(), batch), 0);
  return logits_of_last(drafter.get());
}

class TinyMtpModel : public testing::TestWithParam<std::string_view> {};

TEST_P(TinyMtpModel, BlockDraftsAndFollowsTheTrunk) {
  const LlamaModelPtr model = make({.arch = GetParam(), .mtp = true});
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(llama_model_n_layer_nextn(model.get()), 1);
  const Tokens prompt = random_prompt(0);
  Tokens changed = prompt;
  changed[kPromptLength - 2] ^= 1;
  const Logits draft = draft_logits(model.get(), prompt);
  EXPECT_TRUE(all_finite(draft));
  EXPECT_GT(largest_difference(draft, draft_logits(model.get(), changed)), 0.05);
}

TEST_P(TinyMtpModel, TrunkIsTheModelWithoutTheBlock) {
  const Tokens prompt = random_prompt(0);
  EXPECT_EQ(prompt_logits(make({.arch = GetParam(), .mtp = true}).get(), prompt),
            prompt_logits(make({.arch = GetParam()}).get(), prompt));
}

TEST_P(TinyMtpModel, FileComputesTheSameDraft) {
  const std::filesystem::path path = scratch_file(std::string(GetParam()) + "_mtp");
  const TinySpec spec = {.arch = GetParam(), .mtp = true};
  ASSERT_TRUE(write_tiny_model(spec, kSeed, path).ok());
  const LlamaModelPtr loaded = load(path, /*with_mtp=*/true);
  const LlamaModelPtr trunk_only = load(path, /*with_mtp=*/false);
  std::filesystem::remove(path);
  ASSERT_NE(loaded, nullptr);
  ASSERT_NE(trunk_only, nullptr);
  const Tokens prompt = random_prompt(0);
  EXPECT_EQ(draft_logits(loaded.get(), prompt), draft_logits(make(spec).get(), prompt));
  EXPECT_EQ(prompt_logits(trunk_only.get(), prompt), prompt_logits(loaded.get(), prompt));
}

INSTANTIATE_TEST_SUITE_P(All, TinyMtpModel, testing::Values("qwen35", "qwen35moe", "qwen3next"),
                         [](const auto& test) { return std::string(test.param); });

TEST(TinyModels, WiderModelsDecodeToo) {
  for (std::uint32_t width : {256u, 512u}) {
    const LlamaModelPtr model = make({.arch = "qwen35", .mtp = true, .width = width});
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(llama_model_n_embd(model.get()), static_cast<int>(width));
    EXPECT_TRUE(all_finite(prompt_logits(model.get(), random_prompt(0))));
  }
}

TEST(TinyModels, RefusesWhatItCannotMake) {
  const auto refused_field = [](const TinySpec& spec) {
    const Result<LlamaModelPtr> model = make_tiny_model(spec, kSeed);
    return model.ok() ? "none" : model.error().param;
  };
  EXPECT_EQ(refused_field({.arch = "abacus"}), "arch");
  EXPECT_EQ(refused_field({.arch = "llama", .mtp = true}), "mtp");
  EXPECT_EQ(refused_field({.arch = "llama", .width = 96}), "width");
}

TEST(TinyModels, ReportsAFileItCannotWrite) {
  const Result<void> written =
      write_tiny_model({.arch = "llama"}, kSeed, "/nonexistent/model.gguf");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace holdfast::llama
