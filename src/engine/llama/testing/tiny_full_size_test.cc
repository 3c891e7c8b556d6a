#include "engine/llama/testing/tiny_full_size.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/llama/llama_backends.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/llama_handles.h"
#include "engine/llama/testing/tiny_models.h"
#include "ggml-backend.h"
#include "llama.h"

namespace holdfast::llama {
namespace {

class FullSize : public testing::TestWithParam<std::string_view> {
 protected:
  static void SetUpTestSuite() {
    const auto quiet = [](ggml_log_level level, const char* text, void*) {
      if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
    };
    llama_log_set(quiet, nullptr);
    ASSERT_TRUE(use_cpu_variant("").ok());
  }

  // The shape with its proportions, but as small as the architecture allows: all
  // widths an eighth, the same layers. Narrow ones have fewer layers instead.
  static FullSizeShape scaled_down(std::string_view name) {
    FullSizeShape shape = *find_full_size_shape(name);
    tiny::Sizes& sizes = shape.sizes;
    if (sizes.width < 512) {
      sizes.layers = std::min(sizes.layers, sizes.interval > 0 ? 2 * sizes.interval : 4U);
      return shape;
    }
    for (std::uint32_t* size : {&sizes.width, &sizes.inner, &sizes.head, &sizes.rotary}) *size /= 8;
    sizes.delta_head = std::max(sizes.delta_head / 4, 32U);
    sizes.head = std::max(sizes.head, 16U);
    sizes.vocabulary = kTinyVocabSize + 56;
    return shape;
  }

  LlamaModelPtr load(const FullSizeSpec& spec) {
    const auto path = std::filesystem::path(testing::TempDir()) /
                      ("full_size_" + std::to_string(getpid()) + ".gguf");
    const Result<void> written = write_full_size_model(spec, path);
    EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().message);
    llama_model_params params = llama_model_default_params();
    params.load_mtp = spec.mtp;
    LlamaModelPtr model(llama_model_load_from_file(path.c_str(), params));
    std::filesystem::remove(path);
    return model;
  }
};

// Bytes that `count` more tokens, and the first one, add to a sequence's state.
struct StateBytes {
  std::size_t first = 0;
  std::size_t per_token = 0;
};

StateBytes state_bytes(llama_context* context, llama_state_seq_flags flags) {
  std::vector<llama_token> tokens(8, 'a');
  const auto decode = [&] {
    EXPECT_EQ(llama_decode(context, llama_batch_get_one(tokens.data(), 8)), 0);
    return llama_state_seq_get_size_ext(context, 0, flags);
  };
  llama_memory_clear(llama_get_memory(context), true);
  const std::size_t one = decode();
  const std::size_t two = decode();
  return {one, (two - one) / 8};
}

// What one recurrent layer keeps: its states, and the last tokens of its convolution.
std::size_t recurrent_numbers(const tiny::Sizes& sizes) {
  const std::size_t deltas = sizes.value_heads * sizes.delta_head * sizes.delta_head;
  const std::size_t mixed = (2 * sizes.key_heads + sizes.value_heads) * sizes.delta_head;
  const std::size_t channels = sizes.ssm_inner * sizes.ssm_state;
  const std::size_t convolved = sizes.ssm_inner + 2 * sizes.ssm_groups * sizes.ssm_state;
  return deltas + channels + 3 * (mixed + convolved);
}

TEST_P(FullSize, HasTheSizesThatItsNameSays) {
  const FullSizeShape shape = scaled_down(GetParam());
  const tiny::Sizes& sizes = shape.sizes;
  const LlamaModelPtr model = load({.shape = shape});
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(llama_model_n_embd(model.get()), static_cast<int>(sizes.width));
  EXPECT_EQ(llama_model_n_layer(model.get()), static_cast<int>(sizes.layers));
  EXPECT_EQ(llama_model_n_head(model.get()), static_cast<int>(sizes.heads));
  EXPECT_EQ(llama_model_n_ctx_train(model.get()), static_cast<int>(sizes.context));
  EXPECT_EQ(llama_vocab_n_tokens(llama_model_get_vocab(model.get())),
            static_cast<int>(sizes.vocabulary));

  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_threads = params.n_threads_batch = 1;
  const LlamaContextPtr context(llama_init_from_model(model.get(), params));
  ASSERT_NE(context, nullptr);
  const std::size_t row = 2 * sizeof(std::uint16_t) * sizes.kv_heads * sizes.head;
  if (shape.arch != "qwen35" && shape.arch != "nemotron_h") {
    // A cell's position and sequence come on top of its rows.
    const std::size_t per_token = state_bytes(context.get(), 0).per_token;
    EXPECT_GE(per_token, row * sizes.layers);
    EXPECT_LT(per_token, row * sizes.layers + 64);
    return;
  }
  const std::uint32_t attending = sizes.layers / sizes.interval;
  const std::size_t per_token = state_bytes(context.get(), 0).per_token;
  EXPECT_GE(per_token, row * attending);
  EXPECT_LT(per_token, row * attending + 64);
  const std::size_t recurrent = sizeof(float) * recurrent_numbers(sizes);
  const std::size_t snapshot = state_bytes(context.get(), LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY).first;
  EXPECT_GE(snapshot, recurrent * (sizes.layers - attending));
  EXPECT_LT(snapshot, recurrent * (sizes.layers - attending) + 2048);
}

TEST_P(FullSize, ComputesFiniteLogits) {
  const LlamaModelPtr model = load({.shape = scaled_down(GetParam()), .type = GGML_TYPE_F16});
  ASSERT_NE(model, nullptr);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_threads = params.n_threads_batch = 1;
  const LlamaContextPtr context(llama_init_from_model(model.get(), params));
  std::vector<llama_token> tokens;
  for (int i = 0; i < 100; ++i) tokens.push_back('a' + i % 26);
  ASSERT_EQ(llama_decode(context.get(), llama_batch_get_one(tokens.data(), 100)), 0);
  const float* logits = llama_get_logits_ith(context.get(), -1);
  const auto [low, high] = std::minmax_element(logits, logits + kTinyVocabSize);
  EXPECT_TRUE(std::isfinite(*low) && std::isfinite(*high));
  EXPECT_GT(*high - *low, 1.0F);
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> names;
  for (const FullSizeShape& shape : full_size_shapes()) names.push_back(shape.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Shapes, FullSize, testing::ValuesIn(names()), [](const auto& test) {
  std::string name(test.param);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

using FullSizeOnce = FullSize;

TEST_F(FullSizeOnce, MtpBlockAttends) {
  const LlamaModelPtr model = load({.shape = scaled_down("qwen35-0.8b"), .mtp = true});
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(llama_model_n_layer_nextn(model.get()), 1);
}

TEST_F(FullSizeOnce, TensorBytesAreWhatIsWritten) {
  const FullSizeShape shape = scaled_down("qwen35-0.8b");
  std::size_t last = 0;
  std::size_t announced = 0;
  load({.shape = shape, .progress = [&](std::size_t done, std::size_t all) {
          EXPECT_GT(done, last);
          last = done;
          announced = all;
        }});
  EXPECT_EQ(last, announced);
}

// The sizes of docs/policy: 19.3 MiB a snapshot and 12 KiB a token.
TEST_F(FullSizeOnce, Qwen35StatesAreAsLargeAsTheRealOnes) {
  for (const std::string_view name : {"qwen35-0.8b", "qwen35-2b"}) {
    const tiny::Sizes& sizes = find_full_size_shape(name)->sizes;
    EXPECT_EQ(sizes.layers / sizes.interval * sizes.kv_heads * sizes.head * 4, 12U << 10);
    EXPECT_EQ(sizes.value_heads * sizes.delta_head * sizes.delta_head * 4 * 18, 18U << 20);
  }
}

// What the engine itself says of models with all their layers: the sizes of the real ones they are
// named after. They are narrower still, which no state depends on, and so made sooner.
TEST_F(FullSizeOnce, NarrowModelsHaveStatesAsLargeAsTheRealOnes) {
  constexpr double kMiB = 1 << 20;
  struct Real {
    std::string_view name;
    ByteCount row_KiB;     // of a token
    double snapshot_MiB;   // with convolutions
    ByteCount window_KiB;  // of a token
  };
  for (const Real& real : {Real{"state-9b", 32, 50.25, 0}, Real{"state-27b", 64, 149.63, 0},
                           Real{"state-30b-a3b", 6, 49.69, 0}, Real{"swa-27b", 80, 0, 416},
                           Real{"attention-8b", 128, 0, 0}}) {
    FullSizeShape narrow = *find_full_size_shape(real.name);
    narrow.sizes.width = 64;
    narrow.sizes.inner = std::min(narrow.sizes.inner, 64U);
    const LlamaModelPtr model = load({.shape = narrow});
    ASSERT_NE(model, nullptr) << real.name;
    const auto shape = LlamaEngine::measure_shape(model.get(), {.threads = 1, .threads_batch = 1});
    ASSERT_TRUE(shape.ok()) << real.name;
    const Part* const rows = shape->find(PartKind::kExtent);
    const Part* const window = shape->find(PartKind::kWindow);
    ASSERT_NE(rows, nullptr) << real.name;
    EXPECT_EQ(rows->bytes_per_token / 1024, real.row_KiB) << shape->describe();
    EXPECT_NEAR(static_cast<double>(shape->bytes_per_snapshot()) / kMiB, real.snapshot_MiB, 0.01)
        << shape->describe();
    EXPECT_EQ(window == nullptr ? 0 : window->bytes_per_token / 1024, real.window_KiB);
    EXPECT_EQ(window == nullptr ? 1024 : window->window, 1024);
  }
}

TEST_F(FullSizeOnce, RefusesWhatItCannotMake) {
  const FullSizeShape llama = scaled_down("attention-1b");
  EXPECT_EQ(write_full_size_model({.shape = llama, .mtp = true}, "/nowhere/m").error().param,
            "mtp");
  EXPECT_EQ(write_full_size_model({.shape = llama}, "/nonexistent/m").error().code, ErrorCode::kIo);
  EXPECT_EQ(find_full_size_shape("qwen35-900b"), nullptr);
}

}  // namespace
}  // namespace holdfast::llama
