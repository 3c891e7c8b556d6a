// Parts that mix tokens: attention and recurrent layers.
#pragma once

#include "engine/llama/testing/tiny_blueprint.h"

namespace holdfast::llama::tiny {

// Which layers attend: said by the heads of each, by a period, or none do.
void hybrid_by_heads(Blueprint& model);
void hybrid_by_interval(Blueprint& model);
void no_attention(Blueprint& model);

// Attention sees the last tokens of a window, and all of them once in an interval
// if the architecture knows of such a period.
void sliding_window(Blueprint& model);

// Attention; gated, its queries are twice as wide.
void attention(Blueprint& model);
void gated_attention(Blueprint& model);
void attention_output_bias(Blueprint& model);
void attention_sinks(Blueprint& model);
void query_key_norms(Blueprint& model);
void rope_sections(Blueprint& model);

// Keys and values are kept compressed, as one head, beside a rotary part.
// One of the two kinds of queries goes with it.
void latent_attention(Blueprint& model);
void latent_queries(Blueprint& model);
void compressed_latent_queries(Blueprint& model);

// Qwen's recurrence. Its rates of writing and forgetting come from two
// matrices or from one.
void gated_delta_net(Blueprint& model);
void delta_rates(Blueprint& model);
void fused_delta_rates(Blueprint& model);

// REQUIRES: latent_attention came before; its one KV head is then there on
// attention layers only.
void kimi_delta_attention(Blueprint& model);

void mamba1(Blueprint& model);
void mamba1_norms(Blueprint& model);
void mamba2(Blueprint& model);

void short_convolution(Blueprint& model);
void lightning_attention(Blueprint& model);

}  // namespace holdfast::llama::tiny
