#include "engine/llama/llama_embedder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/llama/llama_context_params.h"
#include "engine/llama/ranking_head.h"
#include "engine/llama/token_batch.h"

namespace holdfast::llama {
namespace {

enum llama_pooling_type library_pooling(std::optional<engine::Pooling> pooling) {
  if (!pooling) return LLAMA_POOLING_TYPE_UNSPECIFIED;
  switch (*pooling) {
    case engine::Pooling::kNone: return LLAMA_POOLING_TYPE_NONE;
    case engine::Pooling::kMean: return LLAMA_POOLING_TYPE_MEAN;
    case engine::Pooling::kFirst: return LLAMA_POOLING_TYPE_CLS;
    case engine::Pooling::kLast: return LLAMA_POOLING_TYPE_LAST;
    case engine::Pooling::kRank: return LLAMA_POOLING_TYPE_RANK;
  }
  return LLAMA_POOLING_TYPE_UNSPECIFIED;
}

engine::Pooling pooling_in(const llama_context* context) {
  switch (llama_pooling_type(context)) {
    case LLAMA_POOLING_TYPE_MEAN: return engine::Pooling::kMean;
    case LLAMA_POOLING_TYPE_CLS: return engine::Pooling::kFirst;
    case LLAMA_POOLING_TYPE_LAST: return engine::Pooling::kLast;
    case LLAMA_POOLING_TYPE_RANK: return engine::Pooling::kRank;
    case LLAMA_POOLING_TYPE_UNSPECIFIED:
    case LLAMA_POOLING_TYPE_NONE: break;
  }
  return engine::Pooling::kNone;
}

std::size_t dimensions_of(const llama_model* model, engine::Pooling pooling) {
  if (pooling == engine::Pooling::kRank) return llama_model_n_cls_out(model);
  return static_cast<std::size_t>(llama_model_n_embd_out(model));
}

// All texts of a step share the cells of one context.
Result<llama_context_params> params_for(const LlamaConfig& config) {
  auto params = make_context_params(config);
  if (!params) return params.error();
  params->n_ctx = params->n_ubatch;
  params->n_batch = params->n_ubatch;
  params->kv_unified = true;
  params->n_outputs_max = 0;  // a vector for every token
  params->n_outputs_max_per_seq = 0;
  params->n_rs_seq = 0;
  params->embeddings = true;
  params->pooling_type = library_pooling(config.embedding->pooling);
  return params;
}

bool reads_in_steps(const llama_context* context) {
  return llama_get_memory(context) != nullptr && pooling_in(context) == engine::Pooling::kLast;
}

// Models with a vector for each position have none beyond those that they were trained with.
TokenPos longest_text(const llama_model* model, const llama_context* context) {
  const auto room = static_cast<TokenPos>(reads_in_steps(context) ? llama_n_ctx(context)
                                                                  : llama_n_ubatch(context));
  const TokenPos trained = llama_model_n_ctx_train(model);
  return trained > 0 ? std::min(room, trained) : room;
}

std::size_t texts_in_batch(const llama_model* model, const llama_context* context) {
  if (pooling_in(context) == engine::Pooling::kRank && !has_ranking_head(model)) return 1;
  return llama_n_seq_max(context);
}

// How long a text may be that is read in steps.
std::uint32_t long_context(const llama_model* model, const LlamaConfig& config) {
  if (config.context_tokens > 0) return static_cast<std::uint32_t>(config.context_tokens);
  const TokenPos trained = llama_model_n_ctx_train(model);
  return static_cast<std::uint32_t>(trained > 0 ? std::min(trained, LlamaEmbedder::kLongTextTokens)
                                                : LlamaEmbedder::kLongTextTokens);
}

// How the model pools is known only from a context, so one for long texts is a second one.
LlamaContextPtr make_context(llama_model* model, llama_context_params params,
                             const LlamaConfig& config) {
  LlamaContextPtr context(llama_init_from_model(model, params));
  if (!context || !reads_in_steps(context.get())) return context;
  const std::uint32_t wanted = long_context(model, config);
  if (wanted <= params.n_ctx) return context;
  params.n_ctx = wanted;
  context.reset();
  return LlamaContextPtr(llama_init_from_model(model, params));
}

}  // namespace

Result<std::unique_ptr<LlamaEmbedder>> LlamaEmbedder::create(std::shared_ptr<llama_model> model,
                                                             const LlamaConfig& config) {
  CHECK(config.embedding);
  auto params = params_for(config);
  if (!params) return params.error();
  LlamaContextPtr context = make_context(model.get(), *params, config);
  if (!context)
    return Error{ErrorCode::kEngine, "The model was loaded but cannot embed texts.", ""};
  auto threads =
      std::make_unique<LlamaThreads>(params->n_threads, params->n_threads_batch, config.poll);
  threads->attach_to(context.get());
  return std::unique_ptr<LlamaEmbedder>(
      new LlamaEmbedder(std::move(model), std::move(threads), std::move(context)));
}

LlamaEmbedder::LlamaEmbedder(std::shared_ptr<llama_model> model,
                             std::unique_ptr<LlamaThreads> threads, LlamaContextPtr context)
    : model_(std::move(model)),
      threads_(std::move(threads)),
      context_(std::move(context)),
      pooling_(pooling_in(context_.get())),
      dimensions_(dimensions_of(model_.get(), pooling_)),
      step_texts_max_(texts_in_batch(model_.get(), context_.get())),
      step_tokens_max_(static_cast<TokenPos>(llama_n_ubatch(context_.get()))),
      text_tokens_max_(longest_text(model_.get(), context_.get())),
      ranking_(model_.get()) {}

std::size_t LlamaEmbedder::texts_in_step(std::span<const Tokens> texts) const {
  const std::size_t most = std::min(texts.size(), step_texts_max_);
  TokenPos tokens = 0;
  std::size_t count = 0;
  for (const Tokens& text : texts.first(most)) {
    tokens += length_of(text);
    if (tokens > step_tokens_max_) break;
    ++count;
  }
  return std::max<std::size_t>(count, 1);  // one that is longer is alone
}

Result<std::vector<engine::Vectors>> LlamaEmbedder::embed(std::span<const Tokens> texts) {
  if (llama_memory_t memory = llama_get_memory(context_.get())) llama_memory_clear(memory, false);
  const bool in_one_step = length_of(texts.front()) <= step_tokens_max_;
  const auto read = in_one_step ? read_together(texts) : read_in_steps(texts.front());
  if (!read) return read.error();
  std::vector<engine::Vectors> all;
  std::size_t row = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    all.push_back(vectors_of(i, row, texts[i].size()));
    row += texts[i].size();
  }
  return all;
}

Result<void> LlamaEmbedder::read_together(std::span<const Tokens> texts) {
  TokenBatch batch;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    TokenPos at = 0;
    for (const Token token : texts[i]) batch.append(SlotId{static_cast<int>(i)}, token, at++, true);
  }
  return compute(batch.view());
}

Result<void> LlamaEmbedder::read_in_steps(const Tokens& text) {
  TokenBatch batch;
  for (TokenPos at = 0; at < length_of(text); ++at) {
    batch.append(SlotId{0}, text[static_cast<std::size_t>(at)], at, true);
    if (batch.size() < static_cast<std::size_t>(step_tokens_max_) && at + 1 < length_of(text))
      continue;
    if (auto computed = compute(batch.view()); !computed) return computed;
    batch.clear();
  }
  return {};
}

Result<void> LlamaEmbedder::compute(const llama_batch& batch) {
  const bool remembers = llama_get_memory(context_.get()) != nullptr;
  const int status =
      remembers ? llama_decode(context_.get(), batch) : llama_encode(context_.get(), batch);
  if (status == 0) return {};
  return Error{ErrorCode::kEngine,
               "The engine could not embed this text (status " + std::to_string(status) + ").", ""};
}

engine::Vectors LlamaEmbedder::vectors_of(std::size_t text, std::size_t first_row,
                                          std::size_t rows) const {
  const auto copy = [this](const float* values) {
    CHECK(values != nullptr);
    return std::vector<float>(values, values + dimensions_);
  };
  if (pooling_ != engine::Pooling::kNone)
    return {copy(llama_get_embeddings_seq(context_.get(), static_cast<llama_seq_id>(text)))};
  engine::Vectors vectors;
  for (std::size_t row = first_row; row < first_row + rows; ++row)
    vectors.push_back(copy(llama_get_embeddings_ith(context_.get(), static_cast<int>(row))));
  return vectors;
}

}  // namespace holdfast::llama
