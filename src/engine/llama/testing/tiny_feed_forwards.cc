#include "engine/llama/testing/tiny_feed_forwards.h"

namespace holdfast::llama::tiny {
namespace {

constexpr std::uint32_t kExperts = 4;
constexpr std::uint32_t kExpertsUsed = 2;
constexpr std::uint32_t kGatingSigmoid = 2;  // llama.cpp's expert_gating_func

std::uint32_t dense_inner(const Blueprint& model) { return model.sizes.inner; }
std::uint32_t expert_inner(const Blueprint& model) { return model.sizes.width / 2; }

// All kinds of experts have a router and the way down in common.
void router(Blueprint& model, std::uint32_t inner) {
  model.set({{"expert_count", kExperts},
             {"expert_used_count", kExpertsUsed},
             {"expert_feed_forward_length", inner},
             {"expert_gating_func", kGatingSigmoid}});
  model.add_to_experts({{"ffn_gate_inp.weight", {model.sizes.width, kExperts}},
                        {"ffn_down_exps.weight", {inner, model.sizes.width, kExperts}}});
}

void experts_with(Blueprint& model, std::uint32_t inner) {
  router(model, inner);
  model.add_to_experts({{"ffn_gate_exps.weight", {model.sizes.width, inner, kExperts}},
                        {"ffn_up_exps.weight", {model.sizes.width, inner, kExperts}}});
}

}  // namespace

void feed_forward_norm(Blueprint& model) {
  model.add_to_all({{"ffn_norm.weight", {model.sizes.width}}});
}

void unsuffixed_feed_forward_norm(Blueprint& model) {
  model.add_to_all({{"ffn_norm", {model.sizes.width}}});
}

void post_attention_norm(Blueprint& model) {
  model.add_to_all({{"post_attention_norm.weight", {model.sizes.width}}});
}

void post_feed_forward_norm(Blueprint& model) {
  model.add_to_all({{"post_ffw_norm.weight", {model.sizes.width}}});
}

void feed_forward(Blueprint& model) {
  const std::uint32_t inner = dense_inner(model);
  model.add_to_dense({{"ffn_gate.weight", {model.sizes.width, inner}},
                      {"ffn_up.weight", {model.sizes.width, inner}},
                      {"ffn_down.weight", {inner, model.sizes.width}}});
}

void feed_forward_biases(Blueprint& model) {
  const std::uint32_t inner = dense_inner(model);
  model.add_to_dense({{"ffn_gate.bias", {inner}},
                      {"ffn_up.bias", {inner}},
                      {"ffn_down.bias", {model.sizes.width}}});
}

void ungated_feed_forward(Blueprint& model) {
  const std::uint32_t inner = dense_inner(model);
  model.add_to_dense({{"ffn_up.weight", {model.sizes.width, inner}},
                      {"ffn_up.bias", {inner}},
                      {"ffn_down.weight", {inner, model.sizes.width}},
                      {"ffn_down.bias", {model.sizes.width}}});
}

void dense_first_layer(Blueprint& model) {
  model.set({{"leading_dense_block_count", 1u}});
  feed_forward(model);
}

void feed_forward_apart(Blueprint& model) {
  model.set({{"feed_forward_length", on_layers(model.mixers, '-', dense_inner(model))}});
}

void experts(Blueprint& model) { experts_with(model, expert_inner(model)); }

void wide_experts(Blueprint& model) { experts_with(model, dense_inner(model)); }

void fused_experts(Blueprint& model) {
  const std::uint32_t inner = expert_inner(model);
  router(model, inner);
  model.add_to_experts({{"ffn_gate_up_exps.weight", {model.sizes.width, 2 * inner, kExperts}}});
}

void ungated_experts(Blueprint& model) {
  const std::uint32_t inner = expert_inner(model);
  router(model, inner);
  model.add_to_experts({{"ffn_up_exps.weight", {model.sizes.width, inner, kExperts}}});
}

void expert_biases(Blueprint& model) {
  const std::uint32_t inner = expert_inner(model);
  model.add_to_experts({{"ffn_gate_inp.bias", {kExperts}},
                        {"ffn_gate_exps.bias", {inner, kExperts}},
                        {"ffn_up_exps.bias", {inner, kExperts}},
                        {"ffn_down_exps.bias", {model.sizes.width, kExperts}}});
}

void expert_choice_bias(Blueprint& model) {
  model.add_to_experts({{"exp_probs_b.bias", {kExperts}}});
}

void latent_experts(Blueprint& model) {
  model.add_to_experts({{"ffn_latent_down.weight", {model.sizes.width, model.sizes.width}},
                        {"ffn_latent_up.weight", {model.sizes.width, model.sizes.width}}});
}

void shared_expert(Blueprint& model) {
  ungated_shared_expert(model);
  model.add_to_experts({{"ffn_gate_shexp.weight", {model.sizes.width, expert_inner(model)}}});
}

void weighed_shared_expert(Blueprint& model) {
  shared_expert(model);
  model.add_to_experts({{"ffn_gate_inp_shexp.weight", {model.sizes.width}}});
}

void ungated_shared_expert(Blueprint& model) {
  const std::uint32_t inner = expert_inner(model);
  model.set({{"expert_shared_count", 1u}, {"expert_shared_feed_forward_length", inner}});
  model.add_to_experts({{"ffn_up_shexp.weight", {model.sizes.width, inner}},
                        {"ffn_down_shexp.weight", {inner, model.sizes.width}}});
}

}  // namespace holdfast::llama::tiny
