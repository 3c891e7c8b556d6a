#include "engine/llama/testing/tiny_recipes.h"

#include <algorithm>

#include "engine/llama/testing/tiny_feed_forwards.h"
#include "engine/llama/testing/tiny_mixers.h"

namespace holdfast::llama::tiny {
namespace {

constexpr std::uint32_t kMeanPooling = 1;  // the library's number
constexpr std::uint32_t kSentences = 2;    // BERT tells two apart

// ---- Parts of the model as a whole ----

void trunk(Blueprint& model) {
  const Sizes& sizes = model.sizes;
  const std::uint32_t width = sizes.width;
  model.set({{"context_length", sizes.context},
             {"vocab_size", sizes.vocabulary},
             {"embedding_length", width},
             {"block_count", static_cast<std::uint32_t>(model.mixers.size())},
             {"feed_forward_length", sizes.inner},
             {"attention.head_count", sizes.heads},
             {"attention.head_count_kv", sizes.kv_heads},
             {"attention.layer_norm_epsilon", 1e-5f},
             {"attention.layer_norm_rms_epsilon", 1e-5f}});
  model.add({{"token_embd.weight", {width, sizes.vocabulary}},
             {"output_norm.weight", {width}},
             {"output.weight", {width, sizes.vocabulary}}});
  model.add_to_all({{"attn_norm.weight", {width}}});
}

// LFM2's last norm has the name of one that others put first.
void output_norm_as_embedding_norm(Blueprint& model) {
  model.rename("output_norm.weight", "token_embd_norm.weight");
}

void scaled_embeddings(Blueprint& model) { model.scales_embeddings = true; }

// Instead of the trunk: BERT's, which sees the whole text, has a vector for each position and norms
// behind its parts, gives vectors and no logits, and ranks with one more head.
void encoder(Blueprint& model) {
  const std::uint32_t width = model.sizes.width;
  model.tensors.clear();
  model.set({{"attention.head_count_kv", model.sizes.heads},
             {"pooling_type", kMeanPooling},
             {"tokenizer.ggml.token_type_count", kSentences}});
  model.add({{"token_embd.weight", {width, model.sizes.vocabulary}},
             {"token_types.weight", {width, kSentences}},
             {"position_embd.weight", {width, model.sizes.context}},
             {"token_embd_norm.weight", {width}},
             {"token_embd_norm.bias", {width}},
             {"cls.weight", {width, width}},
             {"cls.bias", {width}},
             {"cls.output.weight", {width, 1}},
             {"cls.output.bias", {1}}});
  model.sizes.kv_heads = model.sizes.heads;
}

void norms_behind(Blueprint& model) {
  const std::uint32_t width = model.sizes.width;
  model.add_to_all({{"attn_output_norm.weight", {width}},
                    {"attn_output_norm.bias", {width}},
                    {"layer_output_norm.weight", {width}},
                    {"layer_output_norm.bias", {width}}});
}

// What the last layer has on top when it is an MTP block. Like most real ones
// it shares the trunk's embeddings and output.
void mtp_block(Blueprint& model) {
  const std::uint32_t width = model.sizes.width;
  model.set({{"nextn_predict_layers", 1u}});
  model.add_to_layer(model.mixers.size() - 1, {{"nextn.eh_proj.weight", {2 * width, width}},
                                               {"nextn.enorm.weight", {width}},
                                               {"nextn.hnorm.weight", {width}},
                                               {"nextn.shared_head_norm.weight", {width}}});
}

// ---- The architectures ----

constexpr std::size_t kLayers = 8;
constexpr std::string_view kHybrid = "RRARRARR";
constexpr std::string_view kAttention = "AAAAAAAA";
constexpr std::string_view kRecurrent = "RRRRRRRR";
constexpr std::string_view kBoth = "BBBBBBBB";

constexpr std::string_view kDense = "DDDDDDDD";
constexpr std::string_view kExpert = "EEEEEEEE";
constexpr std::string_view kDenseThenExpert = "DEEEEEEE";
constexpr std::string_view kNone = "--------";

constexpr Recipe kRecipes[] = {
    {"qwen35",
     "qwen35",
     kHybrid,
     kDense,
     {hybrid_by_interval, gated_delta_net, delta_rates, gated_attention, query_key_norms,
      rope_sections, post_attention_norm, feed_forward},
     /*has_mtp=*/true},
    {"qwen35moe",
     "qwen35moe",
     kHybrid,
     kExpert,
     {hybrid_by_interval, gated_delta_net, delta_rates, gated_attention, query_key_norms,
      rope_sections, post_attention_norm, fused_experts, weighed_shared_expert},
     /*has_mtp=*/true},
    {"qwen3next",
     "qwen3next",
     kHybrid,
     kExpert,
     {hybrid_by_interval, gated_delta_net, fused_delta_rates, gated_attention, query_key_norms,
      post_attention_norm, fused_experts, weighed_shared_expert},
     /*has_mtp=*/true},
    {"jamba",
     "jamba",
     kHybrid,
     kExpert,
     {hybrid_by_heads, mamba1, mamba1_norms, attention, feed_forward_norm, wide_experts}},
    {"falcon-h1",
     "falcon-h1",
     kBoth,
     kDense,
     {mamba2, attention, attention_output_bias, unsuffixed_feed_forward_norm, feed_forward,
      feed_forward_biases}},
    {"nemotron_h",
     "nemotron_h",
     "RA-R-A-R",
     "--D-D-D-",
     {hybrid_by_heads, mamba2, attention, attention_output_bias, feed_forward_apart,
      ungated_feed_forward}},
    {"nemotron_h_moe",
     "nemotron_h_moe",
     "RA-R-A-R",
     "--E-E-E-",
     {hybrid_by_heads, mamba2, attention, attention_output_bias, feed_forward_apart,
      ungated_experts, expert_choice_bias, latent_experts, ungated_shared_expert}},
    {"granitehybrid",
     "granitehybrid",
     kHybrid,
     kDense,
     {hybrid_by_heads, mamba2, attention, attention_output_bias, feed_forward_norm, feed_forward,
      feed_forward_biases}},
    {"lfm2",
     "lfm2",
     kHybrid,
     kDense,
     {output_norm_as_embedding_norm, hybrid_by_heads, short_convolution, attention, query_key_norms,
      feed_forward_norm, feed_forward}},
    {"lfm2-swa",
     "lfm2",
     kHybrid,
     kDense,
     {output_norm_as_embedding_norm, hybrid_by_heads, short_convolution, attention, query_key_norms,
      sliding_window, feed_forward_norm, feed_forward}},
    {"lfm2moe",
     "lfm2moe",
     kHybrid,
     kDenseThenExpert,
     {output_norm_as_embedding_norm, hybrid_by_heads, short_convolution, attention, query_key_norms,
      feed_forward_norm, dense_first_layer, experts, expert_choice_bias}},
    {"kimi-linear",
     "kimi-linear",
     kHybrid,
     kDenseThenExpert,
     {latent_attention, latent_queries, kimi_delta_attention, feed_forward_norm, dense_first_layer,
      experts, expert_choice_bias, shared_expert}},
    {"minimax-01",
     "minimax-01",
     kHybrid,
     kExpert,
     {hybrid_by_interval, lightning_attention, attention, feed_forward_norm, wide_experts}},
    {"mamba", "mamba", kRecurrent, kNone, {no_attention, mamba1}},
    {"mamba2", "mamba2", kRecurrent, kNone, {no_attention, mamba2}},
    {"gemma3",
     "gemma3",
     kAttention,
     kDense,
     {scaled_embeddings, attention, query_key_norms, sliding_window, post_attention_norm,
      feed_forward_norm, feed_forward, post_feed_forward_norm}},
    {"gpt-oss",
     "gpt-oss",
     kAttention,
     kExpert,
     {attention, attention_output_bias, attention_sinks, sliding_window, post_attention_norm,
      experts, expert_biases}},
    {"llama",
     "llama",
     kAttention,
     kDense,
     {attention, attention_output_bias, feed_forward_norm, feed_forward, feed_forward_biases}},
    {"llama-moe",
     "llama",
     kAttention,
     kExpert,
     {attention, attention_output_bias, feed_forward_norm, wide_experts}},
    {"qwen3",
     "qwen3",
     kAttention,
     kDense,
     {attention, query_key_norms, feed_forward_norm, feed_forward}},
    {"qwen3moe",
     "qwen3moe",
     kAttention,
     kExpert,
     {attention, query_key_norms, feed_forward_norm, experts}},
    {"deepseek2",
     "deepseek2",
     kAttention,
     kDenseThenExpert,
     {latent_attention, compressed_latent_queries, feed_forward_norm, dense_first_layer,
      fused_experts, expert_choice_bias, shared_expert}},
};

// Those that give vectors and no logits.
constexpr Recipe kEncoders[] = {
    {"bert",
     "bert",
     kAttention,
     kDense,
     {encoder, attention, attention_output_bias, norms_behind, ungated_feed_forward}},
};

constexpr bool describes_every_layer(const Recipe& recipe) {
  return recipe.mixers.size() == kLayers && recipe.feed_forwards.size() == kLayers;
}
static_assert(std::ranges::all_of(kRecipes, describes_every_layer));
static_assert(std::ranges::all_of(kEncoders, describes_every_layer));

bool all_alike(std::string_view layers) {
  return layers.find_first_not_of(layers[0]) == layers.npos;
}

std::string mixers_of(const Recipe& recipe, const Sizes& sizes) {
  if (sizes.layers == 0) return std::string(recipe.mixers);
  std::string mixers(sizes.layers, recipe.mixers.front());
  if (all_alike(recipe.mixers)) return mixers;
  for (std::size_t i = sizes.interval; i <= mixers.size(); i += sizes.interval) mixers[i - 1] = 'A';
  return mixers;
}

std::string feed_forwards_of(const Recipe& recipe, const Sizes& sizes) {
  if (sizes.layers == 0) return std::string(recipe.feed_forwards);
  return std::string(sizes.layers, recipe.feed_forwards.front());
}

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe* find_recipe(std::string_view name) {
  for (const std::span<const Recipe> kind : {recipes(), std::span<const Recipe>(kEncoders)}) {
    const auto found = std::ranges::find(kind, name, &Recipe::name);
    if (found != kind.end()) return &*found;
  }
  return nullptr;
}

Blueprint blueprint_of(const Recipe& recipe, const Sizes& sizes, bool mtp) {
  Blueprint model{.sizes = sizes,
                  .mixers = mixers_of(recipe, sizes),
                  .feed_forwards = feed_forwards_of(recipe, sizes)};
  if (mtp) {  // one more layer, which attends
    model.mixers += 'A';
    model.feed_forwards += model.feed_forwards.back();
  }
  trunk(model);
  for (Part part : recipe.parts) {
    if (part != nullptr) part(model);
  }
  if (mtp) mtp_block(model);
  return model;
}

}  // namespace holdfast::llama::tiny
