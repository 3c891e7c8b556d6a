// FakeEmbedder: an Embedder that counts.
//
// A token's vector has one dimension set, that of its id, to 1; pooled vectors are their sum. So a
// text's vector says which tokens the embedder was given. As a rank, it says how many of the
// document's tokens are in the query.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/embedder.h"

namespace holdfast::engine {

struct FakeEmbedderOptions {
  Pooling pooling = Pooling::kMean;
  std::size_t dimensions = 4;
  TokenPos text_tokens_max = 64;
  std::size_t texts_in_step = 2;
  // Called before each step, on the thread that computes; an Error fails it.
  std::function<Result<void>(std::span<const Tokens>)> before_step;
};

class FakeEmbedder final : public Embedder {
 public:
  // What the text that consists of it is computed to.
  static constexpr Token kNotANumber = 0;
  // Between the query and the document of a ranking.
  static constexpr Token kBetween = 1;

  explicit FakeEmbedder(FakeEmbedderOptions options) : options_(std::move(options)) {}

  [[nodiscard]] Pooling pooling() const override { return options_.pooling; }
  [[nodiscard]] std::size_t dimensions() const override {
    return options_.pooling == Pooling::kRank ? 1 : options_.dimensions;
  }
  [[nodiscard]] TokenPos text_tokens_max() const override { return options_.text_tokens_max; }
  [[nodiscard]] std::size_t texts_in_step(std::span<const Tokens> texts) const override {
    return std::min(texts.size(), options_.texts_in_step);
  }
  [[nodiscard]] Result<std::vector<Vectors>> embed(std::span<const Tokens> texts) override {
    CHECK(texts.size() <= options_.texts_in_step);
    if (options_.before_step) {
      if (auto fine = options_.before_step(texts); !fine) return fine.error();
    }
    std::vector<Vectors> all;
    for (const Tokens& text : texts) all.push_back(vectors_of(text));
    return all;
  }
  [[nodiscard]] Tokens ranking_tokens(std::string_view query,
                                      std::string_view document) const override {
    Tokens tokens(query.begin(), query.end());
    tokens.push_back(kBetween);
    tokens.insert(tokens.end(), document.begin(), document.end());
    return tokens;
  }

 private:
  [[nodiscard]] Vectors vectors_of(const Tokens& text) const {
    CHECK(!text.empty() && length_of(text) <= options_.text_tokens_max);
    if (text == Tokens{kNotANumber}) return {{std::numeric_limits<float>::quiet_NaN()}};
    if (options_.pooling == Pooling::kRank) return {{rank(text)}};
    Vectors each;
    for (const Token token : text) {
      each.emplace_back(options_.dimensions);
      each.back()[static_cast<std::size_t>(token) % options_.dimensions] = 1.0F;
    }
    return options_.pooling == Pooling::kNone ? each : Vectors{sum_of(each)};
  }
  static std::vector<float> sum_of(const Vectors& each) {
    std::vector<float> sum(each.front().size());
    for (const auto& vector : each) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += vector[i];
    }
    return sum;
  }
  static float rank(const Tokens& text) {
    const auto between = std::ranges::find(text, kBetween);
    return static_cast<float>(std::count_if(between, text.end(), [&](Token token) {
      return std::find(text.begin(), between, token) != between;
    }));
  }

  const FakeEmbedderOptions options_;
};

}  // namespace holdfast::engine
