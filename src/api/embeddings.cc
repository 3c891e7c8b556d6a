#include "api/embeddings.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "api/client_envelope.h"
#include "api/embedding_answer.h"
#include "api/embedding_desk.h"
#include "api/embedding_request.h"
#include "api/json_fields.h"
#include "api/openai_errors.h"
#include "api/openai_prompts.h"
#include "api/worker.h"
#include "engine/vector_norm.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

// In one answer, where each token has a vector: about 200 MB of JSON.
constexpr std::size_t kNumbersMax = std::size_t{1} << 24U;

// A request with its texts as the embedder takes them.
template <typename Request>
struct Tokenized {
  Request request;
  std::vector<Tokens> texts;

  [[nodiscard]] TokenPos token_count() const {
    return std::accumulate(texts.begin(), texts.end(), TokenPos{0},
                           [](TokenPos sum, const Tokens& text) { return sum + length_of(text); });
  }
};

Error too_large(const std::string& field, std::int64_t tokens, TokenPos most) {
  return invalid_argument(field,
                          field + " has " + std::to_string(tokens) +
                              " tokens or more, which is too large: this server takes up to " +
                              std::to_string(most) +
                              " in one text. --ubatch-size raises that, or --ctx-size where "
                              "--pooling is last, up to the length that the model was trained "
                              "with.");
}

// "input", or "input[3]" where there are several.
std::string field_of(const EmbeddingRequest& request, std::size_t text) {
  return request.texts.size() == 1 ? request.field : element_path(request.field, text);
}

// Text that cannot fit is refused before it is tokenised.
std::int64_t tokens_at_least(const engine::TextModel& text, const TextPrompt& prompt) {
  const auto least = [&](const auto& part) {
    const auto* words = std::get_if<std::string>(&part);
    return words == nullptr ? std::int64_t{0} : text.tokens_at_least(*words);
  };
  const auto* parts = std::get_if<MixedPrompt>(&prompt);
  if (parts == nullptr) return least(prompt);
  return std::transform_reduce(parts->begin(), parts->end(), std::int64_t{0}, std::plus{}, least);
}

Result<void> check_length(const std::string& field, std::int64_t tokens, TokenPos most) {
  if (tokens > most) return too_large(field, tokens, most);
  if (tokens == 0) return invalid_argument(field, field + " is empty.");
  return {};
}

// --- embeddings --------------------------------------------------------------------------

Result<void> check_possible(const EmbeddingRequest& request, const engine::Embedder& embedder) {
  if (request.shape != VectorShape::kPlain && embedder.pooling() == engine::Pooling::kNone) {
    return invalid_argument(
        "",
        "This server gives a vector for every token (--pooling none), and "
        "this endpoint's shape has room for one. Ask /embeddings without /v1, or "
        "start the server with another --pooling.");
  }
  if (request.dimensions && *request.dimensions > embedder.dimensions()) {
    return invalid_argument("dimensions", "dimensions may be at most " +
                                              std::to_string(embedder.dimensions()) +
                                              ", which is what the model computes.");
  }
  return {};
}

// A vector for every token of a book would not fit into memory, nor into an answer.
Result<void> check_volume(const Tokenized<EmbeddingRequest>& read,
                          const engine::Embedder& embedder) {
  if (embedder.pooling() != engine::Pooling::kNone) return {};
  const auto numbers = static_cast<std::size_t>(read.token_count()) * embedder.dimensions();
  if (numbers <= kNumbersMax) return {};
  return invalid_argument(read.request.field,
                          "The vectors of these texts have " + std::to_string(numbers) +
                              " numbers together, one vector for each token; one request may "
                              "have " +
                              std::to_string(kNumbersMax) + ". Send fewer texts.");
}

VectorShape shape_of(const HttpRequest& http) {
  const std::string_view path = without_version(http.path);
  if (path == "/api/embed") return VectorShape::kOllama;
  if (path == "/api/embeddings") return VectorShape::kOllamaOld;
  return path.size() == http.path.size() ? VectorShape::kPlain : VectorShape::kOpenAi;
}

// So much of a long text that it is tokenised in a moment, and more than can count.
void cut_text(TextPrompt& prompt, TokenPos most) {
  constexpr std::size_t kTokenBytes = 256;
  auto* const text = std::get_if<std::string>(&prompt);
  const std::size_t bytes_max = static_cast<std::size_t>(most) * kTokenBytes;
  if (text == nullptr || text->size() <= bytes_max) return;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>((*text)[end]) & 0xC0U) == 0x80U) --end;
  text->resize(end);
}

// The token that ends every text stays at the end.
void cut_tokens(const engine::TextModel& text, TokenPos most, Tokens& tokens) {
  if (length_of(tokens) <= most) return;
  const Tokens bare = text.tokenize("", true, true);
  const Token last = tokens.back();
  tokens.resize(static_cast<std::size_t>(most));
  if (!bare.empty() && bare.back() == last) tokens.back() = last;
}

Result<Tokenized<EmbeddingRequest>> read_embedding(const Backend& backend,
                                                   const HttpRequest& http) {
  const engine::Embedder& embedder = backend.embeddings->embedder();
  auto request = decode_embedding_request(http.body, shape_of(http), backend.defaults);
  if (!request) return request.error();
  if (auto possible = check_possible(*request, embedder); !possible) return possible.error();
  Tokenized<EmbeddingRequest> read;
  for (std::size_t i = 0; i < request->texts.size(); ++i) {
    const std::string field = field_of(*request, i);
    const TokenPos most = embedder.text_tokens_max();
    if (request->truncate) cut_text(request->texts[i], most);
    const std::int64_t least = tokens_at_least(*backend.text, request->texts[i]);
    if (!request->truncate && least > most) return too_large(field, least, most);
    Tokens tokens = tokens_of(*backend.text, request->texts[i]);
    if (request->truncate) cut_tokens(*backend.text, most, tokens);
    if (auto fits = check_length(field, length_of(tokens), most); !fits) return fits.error();
    read.texts.push_back(std::move(tokens));
  }
  read.request = std::move(*request);
  if (auto fits = check_volume(read, embedder); !fits) return fits.error();
  return read;
}

// Vectors of single tokens are left as they are, as llama-server does it.
void finish(std::vector<engine::Vectors>& all, const EmbeddingRequest& request,
            const EmbeddingDesk& desk) {
  if (desk.embedder().pooling() == engine::Pooling::kNone) return;
  for (engine::Vectors& vectors : all) {
    for (std::vector<float>& vector : vectors) {
      if (request.dimensions) vector.resize(*request.dimensions);
      engine::normalize(vector, request.norm.value_or(desk.norm()));
    }
  }
}

// --- ranking -----------------------------------------------------------------------------

Result<Tokenized<RerankRequest>> read_rerank(const Backend& backend, const HttpRequest& http) {
  const engine::Embedder& embedder = backend.embeddings->embedder();
  auto request = decode_rerank_request(http.body);
  if (!request) return request.error();
  const TokenPos most = embedder.text_tokens_max();
  const std::int64_t query = backend.text->tokens_at_least(request->query);
  if (query > most) return too_large("query", query, most);
  Tokenized<RerankRequest> read;
  for (std::size_t i = 0; i < request->documents.size(); ++i) {
    const std::string field = element_path(request->field, i);
    const std::int64_t least = backend.text->tokens_at_least(request->documents[i]);
    if (least > most) return too_large(field, least, most);
    Tokens tokens = embedder.ranking_tokens(request->query, request->documents[i]);
    if (auto fits = check_length(field, length_of(tokens), most); !fits) return fits.error();
    read.texts.push_back(std::move(tokens));
  }
  read.request = std::move(*request);
  return read;
}

std::vector<float> scores_in(const std::vector<engine::Vectors>& all) {
  std::vector<float> scores;
  for (const engine::Vectors& vectors : all) scores.push_back(vectors.front().front());
  return scores;
}

// --- both --------------------------------------------------------------------------------

bool all_numbers(const std::vector<engine::Vectors>& all) {
  for (const engine::Vectors& vectors : all) {
    for (const std::vector<float>& vector : vectors) {
      for (const float value : vector) {
        if (!std::isfinite(value)) return false;
      }
    }
  }
  return true;
}

// Reads the request and embeds its texts; `write` makes the answer. Both on a worker's thread.
template <typename Request, typename Write>
asio::awaitable<HttpResponse> answer_with_vectors(
    const AnswerContext& context, const HttpRequest& http, const HttpResponder& responder,
    Result<Tokenized<Request>> (*read)(const Backend&, const HttpRequest&), Write write) {
  const Backend& backend = *context.backend;
  const auto deadline = backend.defaults.timeout.count() > 0
                            ? std::chrono::steady_clock::now() + backend.defaults.timeout
                            : std::chrono::steady_clock::time_point::max();
  auto tokenized = co_await on_worker(context.worker, [&] { return read(backend, http); });
  if (!tokenized) co_return refusal_for(http, tokenized.error());
  context.log->for_model = true;
  context.log->tokens.read = tokenized->token_count();
  EmbeddingDesk::Limits limits{deadline, [&responder] { return !responder.gone(); }};
  auto vectors = co_await backend.embeddings->embed(tokenized->texts, std::move(limits));
  if (!vectors) co_return refusal_for(http, vectors.error());
  co_return co_await on_worker(context.worker, [&]() -> HttpResponse {
    if (!all_numbers(*vectors)) {
      return refusal_for(
          http, {ErrorCode::kEngine, "The model computed values that are not numbers.", ""});
    }
    return {.body = write(*tokenized, *vectors)};
  });
}

const std::string& name_in(const std::string& asked, const Backend& backend) {
  return asked.empty() ? backend.model_name : asked;
}

}  // namespace

asio::awaitable<void> answer_embeddings(AnswerContext context, const HttpRequest& request,
                                        HttpResponder& responder) {
  HttpResponse response;
  if (context.backend->embeddings == nullptr) {
    response = refusal_for(request, {ErrorCode::kUnsupported,
                                     "This server generates text. Start one with --embedding for "
                                     "embeddings, with a model that is made for them.",
                                     ""});
  } else {
    const Backend& backend = *context.backend;
    const auto write = [&](const Tokenized<EmbeddingRequest>& read,
                           std::vector<engine::Vectors>& vectors) {
      finish(vectors, read.request, *backend.embeddings);
      return embeddings_json(read.request, vectors, name_in(read.request.model, backend),
                             read.token_count());
    };
    response = co_await answer_with_vectors(context, request, responder, &read_embedding, write);
  }
  co_await responder.send(std::move(response));
}

asio::awaitable<void> answer_rerank(AnswerContext context, const HttpRequest& request,
                                    HttpResponder& responder) {
  const auto& desk = context.backend->embeddings;
  HttpResponse response;
  if (desk == nullptr || desk->embedder().pooling() != engine::Pooling::kRank) {
    response = error_response({ErrorCode::kUnsupported,
                               "This server does not rank. Start one with --reranking, with a "
                               "model that is made for it.",
                               ""});
  } else {
    const Backend& backend = *context.backend;
    const auto write = [&](const Tokenized<RerankRequest>& read,
                           const std::vector<engine::Vectors>& vectors) {
      return ranking_json(read.request, scores_in(vectors), name_in(read.request.model, backend),
                          read.token_count());
    };
    response = co_await answer_with_vectors(context, request, responder, &read_rerank, write);
  }
  co_await responder.send(std::move(response));
}

}  // namespace holdfast::api
