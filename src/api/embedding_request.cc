#include "api/embedding_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/decode_object.h"
#include "api/openai_fields.h"
#include "api/openai_prompts.h"
#include "engine/vector_norm.h"

namespace holdfast::api {
namespace {

// Ollama's two, where a text that is too long is cut unless the client says no. The older one
// leaves the vector as the model computed it.
void read_ollama(const JsonFields& body, const ChatDefaults& defaults, EmbeddingRequest& request) {
  const bool old = request.shape == VectorShape::kOllamaOld;
  if (old) request.field = "prompt";
  if (old) request.norm = engine::kNoNorm;
  request.truncate = body.boolean("truncate").value_or(true);
  request.texts = read_prompts(body, request.field, old ? 1 : kTextsMax, defaults);
  request.model = body.text("model").value_or("");
  if (const auto wanted = body.integer("dimensions", 0, std::numeric_limits<int>::max());
      wanted && *wanted > 0)
    request.dimensions = static_cast<std::size_t>(*wanted);
}

EmbeddingRequest read_embedding(const JsonFields& body, VectorShape shape,
                                const ChatDefaults& defaults) {
  EmbeddingRequest request;
  request.shape = shape;
  if (shape == VectorShape::kOllama || shape == VectorShape::kOllamaOld) {
    read_ollama(body, defaults, request);
    return request;
  }
  // llama-server's older name; it always answers in the older shape.
  if (!body.has("input") && body.has("content")) request.field = "content";
  if (request.field == "content") request.shape = VectorShape::kPlain;
  request.texts = read_prompts(body, request.field, kTextsMax, defaults);
  request.model = body.text("model").value_or("");
  constexpr std::array<std::string_view, 2> kFormats = {"float", "base64"};
  request.base64 = body.choice("encoding_format", kFormats).value_or("float") == "base64";
  if (const auto wanted = body.integer("dimensions", 1, std::numeric_limits<int>::max()))
    request.dimensions = static_cast<std::size_t>(*wanted);
  if (const auto norm = body.integer("embd_normalize", engine::kNoNorm, engine::kNormMax))
    request.norm = static_cast<int>(*norm);
  return request;
}

std::vector<std::string> read_documents(const JsonFields& body, const std::string& name) {
  std::vector<std::string> documents;
  const Json* array = body.array(name);
  if (array == nullptr || array->empty()) {
    body.fail(name, "must be an array of at least one text");
    return documents;
  }
  if (array->size() > kTextsMax) {
    body.fail(name, "may hold at most " + std::to_string(kTextsMax) + " texts");
    return documents;
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    if ((*array)[i].is_string()) {
      documents.push_back((*array)[i].get<std::string>());
    } else {
      body.error().note(element_path(name, i), "must be a text");
    }
  }
  return documents;
}

RerankRequest read_rerank(const JsonFields& body) {
  RerankRequest request;
  request.plain = body.has("texts") && !body.has("documents");
  if (request.plain) request.field = "texts";
  request.query = required_text(body, "query");
  request.documents = read_documents(body, request.field);
  request.model = body.text("model").value_or("");
  request.with_texts = request.plain && body.boolean("return_text").value_or(false);
  const std::size_t all = request.documents.size();
  const auto top = body.integer("top_n", 0, std::numeric_limits<int>::max());
  request.top = top ? std::min(all, static_cast<std::size_t>(*top)) : all;
  return request;
}

}  // namespace

Result<EmbeddingRequest> decode_embedding_request(std::string_view json, VectorShape shape,
                                                  const ChatDefaults& defaults) {
  return decode_object<EmbeddingRequest>(
      json, [&](const JsonFields& body) { return read_embedding(body, shape, defaults); });
}

Result<RerankRequest> decode_rerank_request(std::string_view json) {
  return decode_object<RerankRequest>(json, read_rerank);
}

}  // namespace holdfast::api
