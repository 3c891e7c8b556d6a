#include "engine/llama/llama_embedder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/llama/llama_backends.h"
#include "engine/llama/testing/tiny_models.h"
#include "llama.h"

namespace holdfast::llama {
namespace {

using engine::Pooling;
using Vector = std::vector<float>;

constexpr TokenPos kStep = 64;

std::shared_ptr<llama_model> tiny(std::string_view arch) {
  set_llama_log(nullptr);
  EXPECT_TRUE(use_cpu_variant("").ok());
  auto model = make_tiny_model({.arch = arch}, 1);
  EXPECT_TRUE(model.ok());
  return model.ok() ? std::shared_ptr<llama_model>(std::move(*model)) : nullptr;
}

LlamaConfig config(std::optional<Pooling> pooling, TokenPos step = kStep) {
  LlamaConfig config;
  config.threads = 1;
  config.ubatch = step;
  config.embedding = EmbeddingConfig{pooling};
  return config;
}

std::unique_ptr<LlamaEmbedder> embedder(std::string_view arch, const LlamaConfig& config) {
  auto made = LlamaEmbedder::create(tiny(arch), config);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return made.ok() ? std::move(*made) : nullptr;
}

// Another text for each `which`; all bytes, so that every tiny vocabulary has them.
Tokens text_of(TokenPos length, unsigned which) {
  Tokens tokens;
  unsigned state = which * 2654435761U + 1;
  for (TokenPos i = 0; i < length; ++i) {
    state = state * 1664525U + 1013904223U;
    tokens.push_back(static_cast<Token>(state >> 24U));
  }
  return tokens;
}

engine::Vectors embed_alone(LlamaEmbedder& embedder, const Tokens& text) {
  const std::vector<Tokens> one{text};
  EXPECT_EQ(embedder.texts_in_step(one), 1U);
  auto vectors = embedder.embed(one);
  EXPECT_TRUE(vectors.ok());
  return vectors.ok() ? vectors->front() : engine::Vectors{{0.0F}};
}

double cosine(const Vector& a, const Vector& b) {
  EXPECT_EQ(a.size(), b.size());
  double product = 0, square_a = 0, square_b = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    square_a += static_cast<double>(a[i]) * a[i];
    square_b += static_cast<double>(b[i]) * b[i];
  }
  return product / std::sqrt(square_a * square_b);
}

// The vector of every token, in one call of the library and nothing around it.
engine::Vectors plain_vectors(llama_model* model, Tokens text) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = 512;
  params.embeddings = true;
  params.pooling_type = LLAMA_POOLING_TYPE_NONE;
  params.n_threads = params.n_threads_batch = 1;
  const LlamaContextPtr context(llama_init_from_model(model, params));
  llama_batch batch = llama_batch_init(static_cast<int>(text.size()), 0, 1);
  batch.n_tokens = static_cast<int>(text.size());
  for (int i = 0; i < batch.n_tokens; ++i) {
    batch.token[i] = text[static_cast<std::size_t>(i)];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  const bool remembers = llama_get_memory(context.get()) != nullptr;
  EXPECT_EQ(remembers ? llama_decode(context.get(), batch) : llama_encode(context.get(), batch), 0);
  engine::Vectors vectors;
  for (int i = 0; i < batch.n_tokens; ++i) {
    const float* values = llama_get_embeddings_ith(context.get(), i);
    vectors.emplace_back(values, values + llama_model_n_embd_out(model));
  }
  llama_batch_free(batch);
  return vectors;
}

Vector mean_of(const engine::Vectors& vectors) {
  Vector mean(vectors.front().size());
  for (const Vector& vector : vectors) {
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += vector[i] / static_cast<float>(vectors.size());
  }
  return mean;
}

class Embedding : public testing::TestWithParam<std::string_view> {};

TEST_P(Embedding, EachPoolingIsOfTheVectorsOfAllTokens) {
  const auto model = tiny(GetParam());
  const Tokens text = text_of(23, 1);
  const engine::Vectors plain = plain_vectors(model.get(), text);
  const auto pooled = [&](Pooling pooling) {
    auto made = LlamaEmbedder::create(model, config(pooling));
    EXPECT_EQ((*made)->pooling(), pooling);
    return embed_alone(**made, text);
  };
  const engine::Vectors each = pooled(Pooling::kNone);
  ASSERT_EQ(each.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_GT(cosine(each[i], plain[i]), 1 - 1e-6);
  EXPECT_GT(cosine(pooled(Pooling::kMean).front(), mean_of(plain)), 1 - 1e-6);
  EXPECT_GT(cosine(pooled(Pooling::kFirst).front(), plain.front()), 1 - 1e-6);
  EXPECT_GT(cosine(pooled(Pooling::kLast).front(), plain.back()), 1 - 1e-6);
}

// EMBEDDER-1, also after others: recurrent states begin anew.
TEST_P(Embedding, ATextHasTheSameVectorsBesideOthers) {
  for (const Pooling pooling : {Pooling::kNone, Pooling::kMean, Pooling::kLast}) {
    const auto made = embedder(GetParam(), config(pooling));
    const std::vector<Tokens> texts{text_of(9, 1), text_of(21, 2), text_of(1, 3), text_of(14, 4)};
    std::vector<engine::Vectors> alone;
    for (const Tokens& text : texts) alone.push_back(embed_alone(*made, text));
    ASSERT_EQ(made->texts_in_step(texts), texts.size());
    const auto together = made->embed(texts);
    ASSERT_TRUE(together.ok());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ASSERT_EQ((*together)[i].size(), alone[i].size());
      for (std::size_t row = 0; row < alone[i].size(); ++row)
        EXPECT_GT(cosine((*together)[i][row], alone[i][row]), 1 - 1e-5) << i << " " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Embedding,
                         testing::Values("bert", "llama", "qwen3", "gemma3", "qwen35", "lfm2",
                                         "mamba2"),
                         [](const auto& test) { return std::string(test.param); });

class LongText : public testing::TestWithParam<std::string_view> {};

// EMBEDDER-2
TEST_P(LongText, HasItsVectorInSeveralStepsToo) {
  const Tokens text = text_of(3 * kStep + 5, 7);
  const auto steps = embedder(GetParam(), config(Pooling::kLast));
  const auto whole = embedder(GetParam(), config(Pooling::kLast, 512));
  ASSERT_GE(steps->text_tokens_max(), length_of(text));
  EXPECT_GT(cosine(embed_alone(*steps, text).front(), embed_alone(*whole, text).front()), 1 - 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LongText, testing::Values("llama", "qwen3", "qwen35", "mamba2"),
                         [](const auto& test) { return std::string(test.param); });

TEST(LlamaEmbedder, OnlyTextsOfTheirLastTokenMayBeLong) {
  EXPECT_EQ(embedder("llama", config(Pooling::kMean))->text_tokens_max(), kStep);
  EXPECT_EQ(embedder("bert", config(Pooling::kLast))->text_tokens_max(), kStep);
  EXPECT_EQ(embedder("llama", config(Pooling::kLast))->text_tokens_max(),
            LlamaEmbedder::kLongTextTokens);
  LlamaConfig asked = config(Pooling::kLast);
  asked.context_tokens = 1024;
  EXPECT_EQ(embedder("llama", asked)->text_tokens_max(), 1024);
}

TEST(LlamaEmbedder, AStepTakesAsManyTextsAsFit) {
  const auto made = embedder("llama", config(Pooling::kLast));  // 4 slots
  const auto texts = [](const std::vector<TokenPos>& lengths) {
    std::vector<Tokens> made_of;
    for (const TokenPos length : lengths) made_of.push_back(text_of(length, 1));
    return made_of;
  };
  EXPECT_EQ(made->texts_in_step(texts({1, 1, 1, 1, 1})), 4U);
  EXPECT_EQ(made->texts_in_step(texts({30, 34, 1})), 2U);
  EXPECT_EQ(made->texts_in_step(texts({30, 35, 1})), 1U);
  EXPECT_EQ(made->texts_in_step(texts({65, 1})), 1U) << "one that is longer than a step is alone";
}

TEST(LlamaEmbedder, PoolsAsTheModelSays) {
  EXPECT_EQ(embedder("bert", config(std::nullopt))->pooling(), Pooling::kMean);
  EXPECT_EQ(embedder("llama", config(std::nullopt))->pooling(), Pooling::kNone);
}

TEST(LlamaEmbedder, RankingGivesOneNumber) {
  const auto made = embedder("bert", config(Pooling::kRank));
  EXPECT_EQ(made->dimensions(), 1U);
  const engine::Vectors score = embed_alone(*made, made->ranking_tokens("which?", "this one"));
  ASSERT_EQ(score.size(), 1U);
  ASSERT_EQ(score[0].size(), 1U);
  const engine::Vectors other = embed_alone(*made, made->ranking_tokens("which?", "another"));
  EXPECT_NE(score[0][0], other[0][0]);
}

// EMBEDDER-1, for models that were not made for ranking too: the library mixes such texts up.
TEST(LlamaEmbedder, ADocumentHasTheSameScoreBesideOthers) {
  for (const std::string_view arch : {"bert", "llama", "qwen3"}) {
    const auto made = embedder(arch, config(Pooling::kRank));
    std::vector<Tokens> texts{text_of(9, 1), text_of(9, 2), text_of(14, 3)};
    std::vector<float> alone;
    for (const Tokens& text : texts) alone.push_back(embed_alone(*made, text)[0][0]);
    for (std::span<const Tokens> left(texts); !left.empty();) {
      const auto now = left.first(made->texts_in_step(left));
      const auto together = made->embed(now);
      ASSERT_TRUE(together.ok());
      for (std::size_t i = 0; i < now.size(); ++i)
        EXPECT_NEAR((*together)[i][0][0], alone[texts.size() - left.size() + i], 0.02) << arch;
      left = left.subspan(now.size());
    }
  }
}

}  // namespace
}  // namespace holdfast::llama
