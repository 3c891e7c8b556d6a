#include "api/embedding_desk.h"

#include <iterator>
#include <utility>

#include "api/worker.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

Error why_not(const EmbeddingDesk::Limits& limits) {
  if (!limits.wanted()) return {ErrorCode::kCancelled, "The client has gone.", ""};
  return {ErrorCode::kTimeout, "The request took longer than --timeout allows.", ""};
}

// In the queue, as long as it exists.
class Place {
 public:
  explicit Place(std::atomic<std::size_t>& requests) : requests_(requests), number_(++requests) {}
  ~Place() { --requests_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::atomic<std::size_t>& requests_;
  const std::size_t number_;
};

}  // namespace

EmbeddingDesk::EmbeddingDesk(std::shared_ptr<engine::Embedder> embedder, Options options)
    : embedder_(std::move(embedder)), options_(options) {}

void EmbeddingDesk::stop() {
  thread_.stop();
  thread_.join();
}

asio::awaitable<Result<std::vector<engine::Vectors>>> EmbeddingDesk::embed(
    const std::vector<Tokens>& texts, Limits limits) {
  const Place place(requests_);
  if (place.number() > options_.waiting_max) {
    co_return Error{ErrorCode::kUnavailable,
                    "The queue is full (" + std::to_string(options_.waiting_max) +
                        " requests wait). Try again later.",
                    ""};
  }
  auto vectors = co_await embed_here(texts, std::move(limits));
  co_return vectors;
}

asio::awaitable<Result<std::vector<engine::Vectors>>> EmbeddingDesk::embed_here(
    const std::vector<Tokens>& texts, Limits limits) {
  std::vector<engine::Vectors> all;
  std::span<const Tokens> left(texts);
  while (!left.empty()) {
    if (!limits.wanted() || std::chrono::steady_clock::now() >= limits.deadline)
      co_return why_not(limits);
    const auto now = left.first(embedder_->texts_in_step(left));
    auto vectors = co_await on_worker(asio::any_io_executor(thread_.get_executor()),
                                      [this, now] { return step(now); });
    if (!vectors) co_return vectors.error();
    std::move(vectors->begin(), vectors->end(), std::back_inserter(all));
    left = left.subspan(now.size());
  }
  co_return all;
}

Result<std::vector<engine::Vectors>> EmbeddingDesk::step(std::span<const Tokens> texts) {
  const auto began = std::chrono::steady_clock::now();
  auto vectors = embedder_->embed(texts);
  for (const Tokens& text : texts) tokens_ += text.size();
  ++steps_;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  seconds_ = seconds_ + took.count();  // this thread alone writes it
  return vectors;
}

}  // namespace holdfast::api
