// How vectors and scores are written for clients.
#pragma once

#include <string>
#include <vector>

#include "api/embedding_request.h"
#include "engine/embedder.h"
#include "state/tokens.h"

namespace holdfast::api {

// `vectors` are normalised already; where the request is not plain, there is one for each text.
[[nodiscard]] std::string embeddings_json(const EmbeddingRequest& request,
                                          const std::vector<engine::Vectors>& vectors,
                                          const std::string& model, TokenPos tokens);
// `scores` of the documents, in their order.
[[nodiscard]] std::string ranking_json(const RerankRequest& request,
                                       const std::vector<float>& scores, const std::string& model,
                                       TokenPos tokens);

}  // namespace holdfast::api
