// LlamaSampler: llama-common's sampling chain behind the Sampler interface, with a shortcut for
// chains that would only pick the largest logit.
#pragma once

#include <sampling.h>

#include <memory>
#include <optional>
#include <span>

#include "engine/sampling.h"

namespace holdfast::llama {

class LlamaReplyFormat;

class LlamaSampler final : public engine::Sampler {
 public:
  // `format` may be null. A grammar or schema that does not parse is an Error
  // that names the field it came in.
  [[nodiscard]] static Result<std::unique_ptr<LlamaSampler>> create(
      const llama_model* model, const engine::SamplingParams& params,
      const LlamaReplyFormat* format);

  void accept_prompt(TokenSpan prompt) override;
  [[nodiscard]] Result<void> accept(Token token) override;
  [[nodiscard]] std::uint32_t seed() const override;

  // Chooses from row `row` of the context's latest outputs.
  [[nodiscard]] Result<engine::Sampled> sample(llama_context* context, int row,
                                               std::span<const float> logits);

 private:
  LlamaSampler(common_sampler_ptr chain, bool only_largest, std::optional<int> top_logprobs)
      : chain_(std::move(chain)), only_largest_(only_largest), top_logprobs_(top_logprobs) {}

  common_sampler_ptr chain_;
  bool only_largest_;  // the chain is greedy and nothing changes the logits
  std::optional<int> top_logprobs_;
};

}  // namespace holdfast::llama
