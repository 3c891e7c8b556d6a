#include "engine/llama/testing/tiny_mixers.h"

#include "engine/llama/testing/tiny_models.h"

namespace holdfast::llama::tiny {
namespace {

constexpr std::uint32_t kConvolution = 4;  // tokens
constexpr std::uint32_t kMamba1State = 16;

std::uint32_t mamba1_rank(const Blueprint& model) { return model.sizes.width / 16; }

Shapes queries_keys_values(std::uint32_t width, std::uint32_t queries, std::uint32_t keys) {
  return {{"attn_q.weight", {width, queries}}, {"attn_q.bias", {queries}},
          {"attn_k.weight", {width, keys}},    {"attn_k.bias", {keys}},
          {"attn_v.weight", {width, keys}},    {"attn_v.bias", {keys}}};
}

void attention_with(Blueprint& model, std::uint32_t queries) {
  const Sizes& sizes = model.sizes;
  if (!sizes.heads_fill_width()) {
    model.set({{"attention.key_length", sizes.head}, {"attention.value_length", sizes.head}});
  }
  model.add_to_attention(queries_keys_values(sizes.width, queries, sizes.kv_heads * sizes.head));
  model.add_to_attention({{"attn_output.weight", {sizes.queries(), sizes.width}}});
}

}  // namespace

// ---- Attention ----

void hybrid_by_heads(Blueprint& model) {
  model.set({{"attention.head_count_kv", on_layers(model.mixers, 'A', model.sizes.kv_heads)}});
}

void hybrid_by_interval(Blueprint& model) {
  model.set({{"full_attention_interval", model.sizes.interval}});
}

void no_attention(Blueprint& model) {
  model.set(
      {{"attention.head_count", 0u}, {"attention.head_count_kv", 0u}, {"feed_forward_length", 0u}});
}

void sliding_window(Blueprint& model) {
  model.set({{"attention.sliding_window", model.sizes.window},
             {"attention.sliding_window_pattern", model.sizes.interval}});
}

void attention(Blueprint& model) { attention_with(model, model.sizes.queries()); }

void gated_attention(Blueprint& model) { attention_with(model, 2 * model.sizes.queries()); }

void attention_output_bias(Blueprint& model) {
  model.add_to_attention({{"attn_output.bias", {model.sizes.width}}});
}

void attention_sinks(Blueprint& model) {
  model.add_to_attention({{"attn_sinks.weight", {model.sizes.heads}}});
}

void query_key_norms(Blueprint& model) {
  const std::uint32_t head = model.sizes.head;
  model.add_to_attention({{"attn_q_norm.weight", {head}}, {"attn_k_norm.weight", {head}}});
}

// Half of rope.dimension_count in three parts: time, height, width.
void rope_sections(Blueprint& model) {
  const std::uint32_t pairs = model.sizes.rotary / 2;
  const std::uint32_t side = pairs / 3;
  model.set({{"rope.dimension_sections", Array{pairs - 2 * side, side, side, 0}}});
}

void latent_attention(Blueprint& model) {
  const std::uint32_t width = model.sizes.width;
  const std::uint32_t rank = width / 2;
  const std::uint32_t rotary = width / 4;
  const std::uint32_t heads = model.sizes.heads;
  const std::uint32_t head = model.sizes.head;
  model.set({{"attention.head_count_kv", 1u},
             {"attention.kv_lora_rank", rank},
             {"attention.key_length", rank + rotary},
             {"attention.value_length", rank},
             {"attention.key_length_mla", head + rotary},
             {"attention.value_length_mla", head},
             {"rope.dimension_count", rotary}});
  model.add_to_attention({{"attn_kv_a_mqa.weight", {width, rank + rotary}},
                          {"attn_kv_a_norm.weight", {rank}},
                          {"attn_k_b.weight", {head, rank, heads}},
                          {"attn_v_b.weight", {rank, head, heads}},
                          {"attn_output.weight", {width, width}}});
}

// A query is twice as long as a head: the rotary part comes on top.
void latent_queries(Blueprint& model) {
  model.add_to_attention({{"attn_q.weight", {model.sizes.width, 2 * model.sizes.width}}});
}

void compressed_latent_queries(Blueprint& model) {
  const std::uint32_t width = model.sizes.width;
  const std::uint32_t rank = width / 2;
  model.set({{"attention.q_lora_rank", rank}});
  model.add_to_attention({{"attn_q_a.weight", {width, rank}},
                          {"attn_q_a_norm.weight", {rank}},
                          {"attn_q_b.weight", {rank, 2 * width}}});
}

// ---- Recurrent layers ----

void gated_delta_net(Blueprint& model) {
  const Sizes& sizes = model.sizes;
  const std::uint32_t values = sizes.delta_values();
  const std::uint32_t mixed = 2 * sizes.key_heads * sizes.delta_head + values;  // and queries, keys
  model.set({{"ssm.conv_kernel", kConvolution},
             {"ssm.state_size", sizes.delta_head},
             {"ssm.group_count", sizes.key_heads},
             {"ssm.time_step_rank", sizes.value_heads},
             {"ssm.inner_size", values},
             {"rope.dimension_count", sizes.rotary}});
  model.add_to_recurrent({{"attn_qkv.weight", {sizes.width, mixed}},
                          {"attn_gate.weight", {sizes.width, values}},
                          {"ssm_conv1d.weight", {kConvolution, mixed}},
                          {"ssm_dt.bias", {sizes.value_heads}},
                          {"ssm_a", {sizes.value_heads}},
                          {"ssm_norm.weight", {sizes.delta_head}},
                          {"ssm_out.weight", {values, sizes.width}}});
}

void delta_rates(Blueprint& model) {
  const Sizes& sizes = model.sizes;
  model.add_to_recurrent({{"ssm_beta.weight", {sizes.width, sizes.value_heads}},
                          {"ssm_alpha.weight", {sizes.width, sizes.value_heads}}});
}

void fused_delta_rates(Blueprint& model) {
  model.add_to_recurrent({{"ssm_ba.weight", {model.sizes.width, 2 * model.sizes.value_heads}}});
}

void kimi_delta_attention(Blueprint& model) {
  const std::uint32_t width = model.sizes.width;
  const std::uint32_t heads = model.sizes.heads;
  const std::uint32_t head = model.sizes.head;
  model.set({{"attention.head_count_kv", on_layers(model.mixers, 'A', 1)},
             {"ssm.conv_kernel", kConvolution},
             {"kda.head_dim", head}});
  model.add_to_recurrent(queries_keys_values(width, width, width));
  model.add_to_recurrent({{"ssm_conv1d_q.weight", {kConvolution, 1, width}},
                          {"ssm_conv1d_k.weight", {kConvolution, 1, width}},
                          {"ssm_conv1d_v.weight", {kConvolution, 1, width}},
                          {"ssm_f_a.weight", {width, head}},
                          {"ssm_f_b.weight", {head, width}},
                          {"ssm_g_a.weight", {width, head}},
                          {"ssm_g_b.weight", {head, width}},
                          {"ssm_beta.weight", {width, heads}},
                          {"ssm_a", {1, heads}},
                          {"ssm_dt.bias", {width}},
                          {"ssm_norm.weight", {head}},
                          {"attn_output.weight", {width, width}}});
}

void mamba1(Blueprint& model) {
  const std::uint32_t width = model.sizes.width;
  const std::uint32_t inner = 2 * width;
  const std::uint32_t rank = mamba1_rank(model);
  model.set({{"ssm.conv_kernel", kConvolution},
             {"ssm.inner_size", inner},
             {"ssm.state_size", kMamba1State},
             {"ssm.time_step_rank", rank}});
  model.add_to_recurrent({{"ssm_in.weight", {width, 2 * inner}},
                          {"ssm_conv1d.weight", {kConvolution, inner}},
                          {"ssm_conv1d.bias", {inner}},
                          {"ssm_x.weight", {inner, rank + 2 * kMamba1State}},
                          {"ssm_dt.weight", {rank, inner}},
                          {"ssm_dt.bias", {inner}},
                          {"ssm_a", {kMamba1State, inner}},
                          {"ssm_d", {inner}},
                          {"ssm_out.weight", {inner, width}}});
}

void mamba1_norms(Blueprint& model) {
  model.add_to_recurrent({{"ssm_dt_norm.weight", {mamba1_rank(model)}},
                          {"ssm_b_norm.weight", {kMamba1State}},
                          {"ssm_c_norm.weight", {kMamba1State}}});
}

void mamba2(Blueprint& model) {
  const Sizes& sizes = model.sizes;
  const std::uint32_t inner = sizes.ssm_inner;
  const std::uint32_t heads = sizes.ssm_heads;
  const std::uint32_t groups = sizes.ssm_groups;
  const std::uint32_t convolved = inner + 2 * groups * sizes.ssm_state;
  model.set({{"ssm.conv_kernel", kConvolution},
             {"ssm.inner_size", inner},
             {"ssm.state_size", sizes.ssm_state},
             {"ssm.time_step_rank", heads},
             {"ssm.group_count", groups}});
  model.add_to_recurrent({{"ssm_in.weight", {sizes.width, inner + convolved + heads}},
                          {"ssm_conv1d.weight", {kConvolution, convolved}},
                          {"ssm_conv1d.bias", {convolved}},
                          {"ssm_dt.bias", {heads}},
                          {"ssm_a", {1, heads}},
                          {"ssm_d", {1, heads}},
                          {"ssm_norm.weight", {inner / groups, groups}},
                          {"ssm_out.weight", {inner, sizes.width}}});
}

void short_convolution(Blueprint& model) {
  constexpr std::uint32_t kShort = 3;
  const std::uint32_t width = model.sizes.width;
  model.set({{"shortconv.l_cache", kShort}});
  model.add_to_recurrent({{"shortconv.conv.weight", {kShort, width}},
                          {"shortconv.in_proj.weight", {width, 3 * width}},
                          {"shortconv.out_proj.weight", {width, width}}});
}

void lightning_attention(Blueprint& model) {
  const std::uint32_t width = model.sizes.width;
  model.set({{"residual_scale", 1.0f}});
  model.add_to_recurrent({{"attn_qkv.weight", {width, 3 * width}},
                          {"attn_gate.weight", {width, width}},
                          {"attn_norm_2.weight", {width}},
                          {"attn_output.weight", {width, width}}});
}

}  // namespace holdfast::llama::tiny
