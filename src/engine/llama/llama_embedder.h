// LlamaEmbedder: an Embedder in a llama.cpp context, several texts in one batch.
//
// The library pools over one step of its own, so a text must lie in one. Only a text whose vector
// is that of its last token may be longer: if the model has a memory, it is read in several steps.
//
// Verified by llama_embedder_test.cc:
//   EMBEDDER-1  a text's vectors are those that it has alone
//   EMBEDDER-2  a text in several steps has the vector that it has in one
#pragma once

#include <memory>

#include "engine/embedder.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/llama_handles.h"
#include "engine/llama/llama_threads.h"
#include "engine/llama/ranking_prompt.h"

namespace holdfast::llama {

class LlamaEmbedder final : public engine::Embedder {
 public:
  // REQUIRES: config.embedding. Texts longer than config.ubatch may have config.context_tokens; 0:
  // kLongTextTokens, or as many as the model was trained with.
  [[nodiscard]] static Result<std::unique_ptr<LlamaEmbedder>> create(
      std::shared_ptr<llama_model> model, const LlamaConfig& config);

  // What OpenAI takes.
  static constexpr TokenPos kLongTextTokens = 8192;

  [[nodiscard]] engine::Pooling pooling() const override { return pooling_; }
  [[nodiscard]] std::size_t dimensions() const override { return dimensions_; }
  [[nodiscard]] TokenPos text_tokens_max() const override { return text_tokens_max_; }
  [[nodiscard]] std::size_t texts_in_step(std::span<const Tokens> texts) const override;
  [[nodiscard]] Result<std::vector<engine::Vectors>> embed(std::span<const Tokens> texts) override;
  [[nodiscard]] Tokens ranking_tokens(std::string_view query,
                                      std::string_view document) const override {
    return ranking_.tokens(query, document);
  }

 private:
  LlamaEmbedder(std::shared_ptr<llama_model> model, std::unique_ptr<LlamaThreads> threads,
                LlamaContextPtr context);

  [[nodiscard]] Result<void> read_together(std::span<const Tokens> texts);
  [[nodiscard]] Result<void> read_in_steps(const Tokens& text);
  [[nodiscard]] Result<void> compute(const llama_batch& batch);
  [[nodiscard]] engine::Vectors vectors_of(std::size_t text, std::size_t first_row,
                                           std::size_t rows) const;

  std::shared_ptr<llama_model> model_;
  std::unique_ptr<LlamaThreads> threads_;  // outlive the context
  LlamaContextPtr context_;
  engine::Pooling pooling_;
  std::size_t dimensions_;
  std::size_t step_texts_max_;
  TokenPos step_tokens_max_;
  TokenPos text_tokens_max_;
  RankingPrompt ranking_;
};

}  // namespace holdfast::llama
