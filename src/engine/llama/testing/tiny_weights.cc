#include "engine/llama/testing/tiny_weights.h"

#include <cmath>
#include <cstddef>

#include "engine/llama/testing/tiny_models.h"

namespace holdfast::llama::tiny {
namespace {

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t value = 0xcbf29ce484222325;
  for (char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

// Draws near-normal numbers of mean 0 and deviation 1, none beyond
// kLargestDraw: each is the sum of four uniform ones. Being bounded, a mean far
// enough from 0 keeps a tensor's sign. std::normal_distribution would tie the
// models to one standard library.
class NormalDraws {
 public:
  static constexpr float kLargestDraw = 3.4642f;  // sqrt(12)

  explicit NormalDraws(std::uint64_t seed) : state_(seed) {}

  float next() {
    const std::uint64_t bits = next_bits();
    const std::uint64_t sum =
        (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    return (static_cast<float>(sum) - 2 * 65535.0f) * kPerUnit;
  }

 private:
  // The sum of four uniform numbers of [0, 65535] deviates by 65535 / sqrt(3).
  static constexpr float kPerUnit = 1.7320508f / 65535.0f;

  std::uint64_t next_bits() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  std::uint64_t state_;
};

struct Distribution {
  float mean;
  float deviation;
};

// State decays by exp(A * softplus(x + dt bias)) a token. These two make most
// heads forget over a hundred tokens or so, and some over thousands.
constexpr Distribution kSsmA = {-0.5f, 0.12f};
constexpr Distribution kSsmDtBias = {-4.0f, 1.0f};
static_assert(kSsmA.mean + NormalDraws::kLargestDraw * kSsmA.deviation < 0, "A must decay");

constexpr Distribution kNorm = {1.0f, 0.1f};
// Sharper than plain norms make it: attention that is nearly uniform would
// hide an error in a single key.
constexpr Distribution kQueryKeyNorm = {1.6f, 0.1f};
constexpr float kQueryKeyGain = 1.6f;
constexpr float kLogitGain = 3.0f;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_query_or_key(std::string_view name) {
  return contains(name, "attn_q.") || contains(name, "attn_k.");
}

Distribution distribution_of(std::string_view name, std::int64_t fan_in, bool scales_embeddings) {
  const float unit = 1.0f / std::sqrt(static_cast<float>(fan_in));
  if (name == "token_embd.weight") return {0.0f, scales_embeddings ? unit : 1.0f};
  if (name == "output.weight") return {0.0f, kLogitGain * unit};
  if (contains(name, "ssm_dt.bias")) return kSsmDtBias;
  if (name.ends_with(".bias")) return {0.0f, 0.1f};
  if (contains(name, "attn_q_norm") || contains(name, "attn_k_norm")) return kQueryKeyNorm;
  if (contains(name, "norm")) return kNorm;
  if (name.ends_with(".ssm_a")) return kSsmA;
  if (name.ends_with(".ssm_d") || contains(name, "attn_sinks")) return {0.0f, 0.5f};
  if (is_query_or_key(name)) return {0.0f, kQueryKeyGain * unit};
  return {0.0f, unit};
}

// How far a token's logit reaches: a few letters win often, other printable
// bytes and the end of a turn sometimes, the rest hardly ever.
float logit_reach(llama_token token) {
  constexpr std::string_view kFavourites = " eta";
  if (token == kTinyImEnd) return 1.0f;
  if (token < 0x20 || token > 0x7e) return 0.3f;
  return kFavourites.find(static_cast<char>(token)) != kFavourites.npos ? 2.5f : 1.0f;
}

void scale_rows(std::span<float> weights, std::int64_t row_size) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] *= logit_reach(static_cast<llama_token>(i / row_size));
  }
}

}  // namespace

void fill_weights(std::span<float> weights, std::string_view name, std::int64_t row_size,
                  const WeightRules& rules) {
  const auto [mean, deviation] = distribution_of(name, row_size, rules.scales_embeddings);
  NormalDraws draws(rules.seed ^ hash(name));
  for (float& weight : weights) weight = mean + deviation * draws.next();
  if (name == "output.weight") scale_rows(weights, row_size);
}

}  // namespace holdfast::llama::tiny
