#include "engine/llama/testing/tiny_full_size.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "engine/llama/testing/tiny_recipes.h"

namespace holdfast::llama {
namespace {

// As its configuration has it. Three layers of four are recurrent; 2B differs from
// 0.8B in its widths alone, so their states are the same.
constexpr tiny::Sizes kQwen35 = {.layers = 24,
                                 .vocabulary = kFullSizeVocabulary,
                                 .context = 262144,
                                 .heads = 8,
                                 .kv_heads = 2,
                                 .head = 256,
                                 .rotary = 64,
                                 .interval = 4,
                                 .key_heads = 16,
                                 .value_heads = 16,
                                 .delta_head = 128};

constexpr tiny::Sizes widened(tiny::Sizes sizes, std::uint32_t width, std::uint32_t inner) {
  sizes.width = width;
  sizes.inner = inner;
  return sizes;
}

// Three layers of four are recurrent here too: a snapshot of 49 MiB, rows of 32 KiB a token.
constexpr tiny::Sizes kQwen35Large = {.layers = 32,
                                      .vocabulary = kFullSizeVocabulary,
                                      .context = 262144,
                                      .heads = 16,
                                      .kv_heads = 4,
                                      .head = 256,
                                      .rotary = 64,
                                      .interval = 4,
                                      .key_heads = 16,
                                      .value_heads = 32,
                                      .delta_head = 128};

constexpr FullSizeShape kShapes[] = {
    {"qwen35-0.8b", "qwen35", "Qwen3.5 0.8B: 18 gated delta nets, 6 attention layers",
     widened(kQwen35, 1024, 3584)},
    {"qwen35-2b", "qwen35", "Qwen3.5 2B: as above, twice as wide", widened(kQwen35, 2048, 6144)},
    {"qwen35-9b", "qwen35", "Qwen3.5 9B: 24 gated delta nets, 8 attention layers",
     widened(kQwen35Large, 4096, 12288)},
    {"state-9b", "qwen35", "the state of Qwen3.5 9B on a sixteenth of its width, for processors",
     widened(kQwen35Large, 256, 512)},
    // States as large as those of real models on few weights: what a cache has to carry, at a speed
    // at which two cores show it. Heads of queries are few, too, because no state depends on them.
    {"state-27b",
     "qwen35",
     "the state of Qwen3.6 27B: 48 gated delta nets, 16 attention layers, narrow",
     {.width = 128,
      .layers = 64,
      .inner = 256,
      .vocabulary = kFullSizeVocabulary,
      .context = 262144,
      .heads = 4,
      .kv_heads = 4,
      .head = 256,
      .rotary = 64,
      .interval = 4,
      .key_heads = 16,
      .value_heads = 48,
      .delta_head = 128}},
    {"state-30b-a3b",
     "nemotron_h",
     "the state of Nemotron 3 Nano 30B: 24 layers of Mamba 2, 6 of attention, narrow",
     {.width = 256,
      .layers = 30,
      .vocabulary = kFullSizeVocabulary,
      .context = 262144,
      .heads = 4,
      .kv_heads = 2,
      .head = 128,
      .interval = 5,
      .ssm_heads = 64,
      .ssm_inner = 4096,
      .ssm_state = 128,
      .ssm_groups = 8}},
    {"swa-27b",
     "gemma3",
     "the state of Gemma 3 27B: 62 attention layers, 52 of them with a window of 1024, narrow",
     {.width = 128,
      .layers = 62,
      .inner = 256,
      .vocabulary = kFullSizeVocabulary,
      .context = 131072,
      .heads = 16,
      .kv_heads = 16,
      .head = 128,
      .interval = 6,
      .window = 1024}},
    {"attention-8b",
     "llama",
     "the state of Llama 3.1 8B: 32 attention layers, narrow",
     {.width = 256,
      .layers = 32,
      .inner = 512,
      .vocabulary = kFullSizeVocabulary,
      .context = 131072,
      .heads = 8,
      .kv_heads = 8,
      .head = 128}},
    {"attention-1b",
     "llama",
     "Llama 3.2 1B: 16 attention layers",
     {.width = 2048,
      .layers = 16,
      .inner = 8192,
      .vocabulary = kFullSizeVocabulary,
      .context = 131072,
      .heads = 32,
      .kv_heads = 8,
      .head = 64}},
    {"swa-1b",
     "gemma3",
     "Gemma 3 1B: 26 attention layers, 22 of them with a window of 512",
     {.width = 1152,
      .layers = 26,
      .inner = 6912,
      .vocabulary = kFullSizeVocabulary,
      .context = 32768,
      .heads = 4,
      .kv_heads = 1,
      .head = 256,
      .interval = 6,
      .window = 512}},
    // One attention layer with two small heads: at such a depth all the time goes there.
    {"tiny-250k",
     "qwen35",
     "a tiny hybrid that reads 250,000 tokens in minutes on two cores",
     {.width = 64,
      .layers = 4,
      .inner = 128,
      .vocabulary = 264,
      .context = 300'000,
      .heads = 2,
      .kv_heads = 1,
      .head = 32,
      .rotary = 16,
      .interval = 3,
      .key_heads = 2,
      .value_heads = 2,
      .delta_head = 32}},
    // What a server test needs: each kind of state, and a start that takes no time.
    {"tiny-attention",
     "llama",
     "a tiny model that attends in each of its 4 layers",
     {.width = 64,
      .layers = 4,
      .inner = 128,
      .vocabulary = 264,
      .context = 32768,
      .heads = 2,
      .kv_heads = 1,
      .head = 32}},
    {"tiny-mamba2",
     "nemotron_h",
     "a tiny model of 8 layers of Mamba 2 and 2 of attention",
     {.width = 64,
      .layers = 10,
      .vocabulary = 264,
      .context = 32768,
      .heads = 2,
      .kv_heads = 1,
      .head = 32,
      .interval = 5,
      .ssm_heads = 8,
      .ssm_inner = 128,
      .ssm_state = 16,
      .ssm_groups = 2}},
    {"tiny-swa",
     "gemma3",
     "a tiny model of 6 layers, 5 of them with a window of 64",
     {.width = 64,
      .layers = 6,
      .inner = 128,
      .vocabulary = 264,
      .context = 32768,
      .heads = 2,
      .kv_heads = 1,
      .head = 32,
      .interval = 6,
      .window = 64}},
};

}  // namespace

std::span<const FullSizeShape> full_size_shapes() { return kShapes; }

const FullSizeShape* find_full_size_shape(std::string_view name) {
  const auto found = std::ranges::find(kShapes, name, &FullSizeShape::name);
  return found == std::ranges::end(kShapes) ? nullptr : &*found;
}

Result<void> write_full_size_model(const FullSizeSpec& spec, const std::filesystem::path& path) {
  const std::string arch(spec.shape.arch);
  const tiny::Recipe* recipe = tiny::find_recipe(arch);
  if (recipe == nullptr) return invalid_argument("arch", "no recipe for " + arch);
  if (spec.mtp && !recipe->has_mtp) return invalid_argument("mtp", "no MTP block for " + arch);
  const tiny::Blueprint blueprint = tiny::blueprint_of(*recipe, spec.shape.sizes, spec.mtp);
  const tiny::ModelFile model{.recipe = *recipe,
                              .blueprint = blueprint,
                              .name = "random " + std::string(spec.shape.name),
                              .seed = spec.seed,
                              .type = spec.type,
                              .progress = spec.progress};
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file != nullptr && tiny::write_model(model, file);
  const bool closed = file == nullptr || std::fclose(file) == 0;
  if (!written || !closed) return Error{ErrorCode::kIo, "cannot write " + path.string(), ""};
  return {};
}

}  // namespace holdfast::llama
