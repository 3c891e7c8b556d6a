// LlamaSampler: llama-common's sampling chain behind the Sampler interface, with a grammar of our
// own (llama_grammar.h), and a shortcut for chains that would only pick the largest logit.
#pragma once

#include <sampling.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/sampling.h"

namespace holdfast::llama {

class LlamaGrammar;
class LlamaReplyFormat;
struct GrammarContext;

class LlamaSampler final : public engine::Sampler {
 public:
  // `format` may be null. A grammar or schema that does not parse, or that costs more than its
  // limits, is an Error that names the field it came in.
  [[nodiscard]] static Result<std::unique_ptr<LlamaSampler>> create(
      const llama_model* model, const GrammarContext& context, const engine::SamplingParams& params,
      const LlamaReplyFormat* format);
  ~LlamaSampler() override;

  void accept_prompt(TokenSpan prompt) override;
  [[nodiscard]] Result<void> accept(Token token) override;
  [[nodiscard]] std::uint32_t seed() const override;
  bool end_thoughts() override;

  // May be null.
  [[nodiscard]] const LlamaGrammar* grammar() const { return grammar_.get(); }

  // Chooses from row `row` of the context's latest outputs.
  [[nodiscard]] Result<engine::Sampled> sample(llama_context* context, int row,
                                               std::span<const float> logits);

 private:
  LlamaSampler(common_sampler_ptr chain, std::unique_ptr<LlamaGrammar> grammar, bool only_largest,
               const engine::SamplingParams& params);
  [[nodiscard]] Result<Token> sample_constrained(llama_context* context, int row);
  [[nodiscard]] Token sample_among(llama_context* context, int row,
                                   const std::vector<bool>& allowed);
  [[nodiscard]] Result<Token> sample_without_match(Token free);
  void report_candidates(engine::Sampled& sampled) const;

  common_sampler_ptr chain_;
  std::unique_ptr<LlamaGrammar> grammar_;  // may be null
  bool only_largest_;                      // the chain is greedy and nothing changes the logits
  std::optional<int> top_logprobs_;
  bool post_sampling_probs_;
  bool reasoning_control_;
};

}  // namespace holdfast::llama
