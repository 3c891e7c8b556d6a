// Parts that follow a mixer in a layer: norms, dense feed-forwards, experts.
#pragma once

#include "engine/llama/testing/tiny_blueprint.h"

namespace holdfast::llama::tiny {

// Norms of every layer. What an architecture calls the norm before its
// feed-forward differs: the first three name it in three ways.
void feed_forward_norm(Blueprint& model);
void unsuffixed_feed_forward_norm(Blueprint& model);
void post_attention_norm(Blueprint& model);
void post_feed_forward_norm(Blueprint& model);

// Dense layers.
void feed_forward(Blueprint& model);
void feed_forward_biases(Blueprint& model);
void ungated_feed_forward(Blueprint& model);  // with biases

// feed_forward on the first layer; experts are to follow on the others.
void dense_first_layer(Blueprint& model);

// feed_forward_length is there only on layers without a mixer.
void feed_forward_apart(Blueprint& model);

// Two of four experts, so that routing depends on the state too. Wide ones are
// as wide inside as a dense layer, others half as wide as the model.
void experts(Blueprint& model);
void wide_experts(Blueprint& model);
void fused_experts(Blueprint& model);  // gate and up in one tensor
void ungated_experts(Blueprint& model);

// Of the router and of experts(); and one that moves the choice of experts but
// not their shares.
void expert_biases(Blueprint& model);
void expert_choice_bias(Blueprint& model);

// Experts work on a projection of the layer's input.
void latent_experts(Blueprint& model);

// An expert for every token; weighed, a learned gate scales all it says.
void shared_expert(Blueprint& model);
void weighed_shared_expert(Blueprint& model);
void ungated_shared_expert(Blueprint& model);

}  // namespace holdfast::llama::tiny
