// Finds out what a model's state consists of: a few tokens are decoded in a temporary context, and
// the sizes of its state are compared.
#include <array>
#include <numeric>

#include "engine/llama/llama_context_params.h"
#include "engine/llama/llama_engine.h"

namespace holdfast::llama {

namespace {

// What the library writes for a cell besides its rows. An attention cache without
// layers (lfm2 with a sliding window) has cells and no rows.
constexpr ByteCount kCellBytesMax = 24;

// Few enough to lie inside any sliding window, so that sizes grow linearly.
constexpr int kProbeTokens = 8;

struct StateSizes {
  ByteCount whole = 0;
  ByteCount partial = 0;  // without extents, where the library can separate them
};

StateSizes sizes_of(llama_context* context) {
  return {llama_state_seq_get_size_ext(context, 0, 0),
          llama_state_seq_get_size_ext(context, 0, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)};
}

bool decode_probe(llama_context* context, int vocabulary) {
  std::array<llama_token, kProbeTokens> tokens{};
  for (int i = 0; i < kProbeTokens; ++i) tokens[static_cast<std::size_t>(i)] = i % vocabulary;
  return llama_decode(context, llama_batch_get_one(tokens.data(), kProbeTokens)) == 0;
}

ByteCount growth(ByteCount before, ByteCount after) { return (after - before) / kProbeTokens; }

StateShape shape_from(llama_model* model, bool swa_full, StateSizes one, StateSizes two) {
  const bool recurrent = llama_model_is_recurrent(model);
  const bool hybrid = llama_model_is_hybrid(model);
  const TokenPos window = swa_full ? 0 : llama_model_n_swa(model);
  StateShape shape;
  if (recurrent && !hybrid) {
    shape.parts.push_back({.kind = PartKind::kSnapshot, .bytes_fixed = one.whole});
    return shape;
  }
  if (!hybrid && window == 0) {
    shape.parts.push_back(
        {.kind = PartKind::kExtent, .bytes_per_token = growth(one.whole, two.whole)});
    return shape;
  }
  const ByteCount extent = growth(one.whole - one.partial, two.whole - two.partial);
  const ByteCount windowed = growth(one.partial, two.partial);
  if (extent > kCellBytesMax)
    shape.parts.push_back({.kind = PartKind::kExtent, .bytes_per_token = extent});
  if (windowed > 0) {
    shape.parts.push_back(
        {.kind = PartKind::kWindow, .bytes_per_token = windowed, .window = window});
  }
  if (hybrid) {
    shape.parts.push_back(
        {.kind = PartKind::kSnapshot, .bytes_fixed = one.partial - windowed * kProbeTokens});
  }
  return shape;
}

}  // namespace

Result<StateShape> LlamaEngine::measure_shape(llama_model* model, const LlamaConfig& config) {
  LlamaConfig small = config;
  small.slots = 1;
  small.context_tokens = 256;
  small.ubatch = 64;
  small.rollback_depth = 0;
  auto params = make_context_params(small);
  if (!params) return params.error();
  const Error cannot{ErrorCode::kEngine, "The model was loaded but cannot generate text.", ""};
  LlamaContextPtr context(llama_init_from_model(model, *params));
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  if (!context || vocabulary <= 0 || !decode_probe(context.get(), vocabulary)) return cannot;
  const StateSizes one = sizes_of(context.get());
  if (!decode_probe(context.get(), vocabulary)) return cannot;
  return shape_from(model, config.swa_full, one, sizes_of(context.get()));
}

}  // namespace holdfast::llama
