// Requests for vectors of texts: OpenAI's, llama-server's own, Ollama's, and the two shapes of
// reranking.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/openai_request.h"
#include "base/result.h"

namespace holdfast::api {

// Whose answers they are like. kPlain: an array of vectors, as llama-server's own clients read it.
// Ollama has two: /api/embed, and the older /api/embeddings with one text.
enum class VectorShape { kOpenAi, kPlain, kOllama, kOllamaOld };

struct EmbeddingRequest {
  std::vector<TextPrompt> texts;  // at least one
  std::string field = "input";    // where they stood
  std::string model;              // what the client calls it; empty: nothing
  VectorShape shape = VectorShape::kOpenAi;
  bool base64 = false;
  bool truncate = false;                  // of a text that is too long the beginning is taken
  std::optional<std::size_t> dimensions;  // the first ones only
  std::optional<int> norm;                // engine/vector_norm.h
};

struct RerankRequest {
  std::string query;
  std::vector<std::string> documents;  // at least one
  std::string field = "documents";     // where they stood
  std::string model;
  std::size_t top = 0;      // how many are wanted; not more than there are
  bool plain = false;       // an array of scores, as clients of TEI read it
  bool with_texts = false;  // then: each with its document
};

// Texts in one request, as many as OpenAI takes.
inline constexpr std::size_t kTextsMax = 2048;

// `shape`: that of the path that was asked.
[[nodiscard]] Result<EmbeddingRequest> decode_embedding_request(std::string_view json,
                                                                VectorShape shape,
                                                                const ChatDefaults& defaults);
[[nodiscard]] Result<RerankRequest> decode_rerank_request(std::string_view json);

}  // namespace holdfast::api
