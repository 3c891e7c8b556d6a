#include "api/embedding_answer.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <numeric>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

// The shortest text that reads as the same float: half as long as that of a double.
void append_float(std::string& out, float value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

void append_vector(std::string& out, const std::vector<float>& vector) {
  append_array(out, vector, [&](float value) { append_float(out, value); });
}

// Floats in the machine's order, which is the little-endian one that clients expect.
void append_base64(std::string& out, const std::vector<float>& vector) {
  const std::size_t bytes = vector.size() * sizeof(float);
  std::string encoded((bytes + 2) / 3 * 4 + 1, '\0');  // with room for the end mark
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(vector.data()),
                                   static_cast<int>(bytes));
  (out += '"').append(encoded, 0, static_cast<std::size_t>(size)) += '"';
}

void append_usage(ObjectWriter& object, TokenPos tokens) {
  ObjectWriter usage(object.key("usage"));
  usage.integer("prompt_tokens", tokens);
  usage.integer("total_tokens", tokens);
}

void append_plain_embeddings(std::string& out, const std::vector<engine::Vectors>& vectors) {
  std::int64_t index = 0;
  append_array(out, vectors, [&](const engine::Vectors& of_text) {
    ObjectWriter object(out);
    object.integer("index", index++);
    append_array(object.key("embedding"), of_text,
                 [&](const std::vector<float>& vector) { append_vector(out, vector); });
  });
}

void append_embeddings(std::string& out, const EmbeddingRequest& request,
                       const std::vector<engine::Vectors>& vectors) {
  std::int64_t index = 0;
  append_array(out, vectors, [&](const engine::Vectors& of_text) {
    ObjectWriter entry(out);
    entry.text("object", "embedding");
    entry.integer("index", index++);
    if (request.base64) {
      append_base64(entry.key("embedding"), of_text.front());
      entry.text("encoding_format", "base64");
    } else {
      append_vector(entry.key("embedding"), of_text.front());
    }
  });
}

void append_ollama(std::string& out, const std::string& model, TokenPos tokens,
                   const std::vector<engine::Vectors>& vectors) {
  ObjectWriter object(out);
  object.text("model", model);
  append_array(object.key("embeddings"), vectors,
               [&](const engine::Vectors& of_text) { append_vector(out, of_text.front()); });
  object.integer("prompt_eval_count", tokens);
}

// The best first; of two equal ones, the first.
std::vector<std::size_t> best_of(const std::vector<float>& scores, std::size_t count) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return scores[i]; });
  order.resize(count);
  return order;
}

void append_ranking(std::string& out, const RerankRequest& request,
                    const std::vector<float>& scores) {
  append_array(out, best_of(scores, request.top), [&](std::size_t index) {
    ObjectWriter object(out);
    object.integer("index", static_cast<std::int64_t>(index));
    append_float(object.key(request.plain ? "score" : "relevance_score"), scores[index]);
    if (request.with_texts) object.text("text", request.documents[index]);
  });
}

// The list around `append_items`, in the shape that OpenAI and Jina share.
template <typename Append>
void append_list(std::string& out, const std::string& model, TokenPos tokens, const char* name,
                 Append append_items) {
  ObjectWriter object(out);
  object.text("object", "list");
  object.text("model", model);
  append_usage(object, tokens);
  append_items(object.key(name));
}

}  // namespace

std::string embeddings_json(const EmbeddingRequest& request,
                            const std::vector<engine::Vectors>& vectors, const std::string& model,
                            TokenPos tokens) {
  std::string out;
  if (request.shape == VectorShape::kPlain) {
    append_plain_embeddings(out, vectors);
  } else if (request.shape == VectorShape::kOllama) {
    append_ollama(out, model, tokens, vectors);
  } else if (request.shape == VectorShape::kOllamaOld) {
    ObjectWriter object(out);
    append_vector(object.key("embedding"), vectors.front().front());
  } else {
    append_list(out, model, tokens, "data",
                [&](std::string& to) { append_embeddings(to, request, vectors); });
  }
  return out;
}

std::string ranking_json(const RerankRequest& request, const std::vector<float>& scores,
                         const std::string& model, TokenPos tokens) {
  std::string out;
  if (request.plain) {
    append_ranking(out, request, scores);
  } else {
    append_list(out, model, tokens, "results",
                [&](std::string& to) { append_ranking(to, request, scores); });
  }
  return out;
}

}  // namespace holdfast::api
