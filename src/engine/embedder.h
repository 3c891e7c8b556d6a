// Embedder: texts as vectors, for search and for ranking. It has a context of its own; slots and
// their states are not touched.
//
// One thread at a time; const members: any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "state/tokens.h"

namespace holdfast::engine {

// How the vectors of a text's tokens become one.
enum class Pooling {
  kNone,  // they do not
  kMean,
  kFirst,  // that of the first token, CLS
  kLast,
  kRank,  // a score: how well a document answers a query
};

// Of one text: one vector, or one for each token where nothing is pooled.
using Vectors = std::vector<std::vector<float>>;

class Embedder {
 public:
  virtual ~Embedder() = default;

  [[nodiscard]] virtual Pooling pooling() const = 0;
  // Numbers in a vector.
  [[nodiscard]] virtual std::size_t dimensions() const = 0;
  // The longest text that can be embedded.
  [[nodiscard]] virtual TokenPos text_tokens_max() const = 0;
  // How many texts, from the first on, embed() takes in one step. REQUIRES: as embed().
  [[nodiscard]] virtual std::size_t texts_in_step(std::span<const Tokens> texts) const = 0;
  // REQUIRES: texts_in_step() of them at most, and each has 1 to text_tokens_max() tokens of the
  // vocabulary. The vectors are as the model computed them, not normalised.
  [[nodiscard]] virtual Result<std::vector<Vectors>> embed(std::span<const Tokens> texts) = 0;

  // A query and a document as models that rank read them. Neither can name control tokens.
  [[nodiscard]] virtual Tokens ranking_tokens(std::string_view query,
                                              std::string_view document) const = 0;
};

}  // namespace holdfast::engine
