#include "engine/llama/llama_copies.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::llama {

namespace {

// More threads are not faster: the bus and memory are the limit.
constexpr unsigned kThreadsMax = 8;

void move_directly(const PieceOut& piece) {
  ggml_backend_tensor_get(piece.tensor, piece.memory, piece.offset, piece.size);
}

void move_directly(const PieceIn& piece) {
  ggml_backend_tensor_set(piece.tensor, piece.memory, piece.offset, piece.size);
}

}  // namespace

// --- moving ------------------------------------------------------------------------------

bool LlamaCopies::several(const ggml_tensor* tensor) const {
  if (threads_ == Threads::kAlways) return true;
  return !on_host(tensor) && has_queue_for_each_thread(device_of(tensor));
}

template <typename Byte>
void LlamaCopies::move_all(std::span<const TensorPiece<Byte>> pieces) {
  Shipments<Byte> shipments(HostStage::kBytes);
  for (const TensorPiece<Byte>& piece : pieces) {
    if (several(piece.tensor)) {
      shipments.add(piece);
    } else {
      move_directly(piece);
    }
  }
  run(shipments.count(), [&](std::size_t i, HostStage& own) { own.move(shipments[i]); });
}

void LlamaCopies::out(std::span<const PieceOut> pieces) { move_all(pieces); }
void LlamaCopies::in(std::span<const PieceIn> pieces) { move_all(pieces); }

void LlamaCopies::each(const ggml_tensor* like, std::size_t count,
                       const std::function<void(std::size_t)>& work) {
  if (several(like)) return run(count, [&](std::size_t i, HostStage&) { work(i); });
  for (std::size_t i = 0; i < count; ++i) work(i);
}

// --- threads -----------------------------------------------------------------------------

LlamaCopies::LlamaCopies(Threads threads) : threads_(threads) {
  stages_.push_back(std::make_unique<HostStage>());
}

LlamaCopies::~LlamaCopies() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void LlamaCopies::start() {
  const unsigned wanted = std::clamp(std::thread::hardware_concurrency() / 2, 2U, kThreadsMax);
  while (stages_.size() < wanted) {
    HostStage& own = *stages_.emplace_back(std::make_unique<HostStage>());
    workers_.emplace_back([this, &own] { work_until_stopped(own); });
  }
}

// The calling thread works too.
void LlamaCopies::run(std::size_t count, const Work& work) {
  if (count == 0) return;
  if (count > 1) start();
  MutexLock lock(mutex_);
  CHECK(round_.work == nullptr);
  round_ = {&work, count, 0, 0};
  if (count > 1) changed_.notify_all();
  take_part(*stages_.front());
  while (round_.running != 0) changed_.wait(lock);
  round_ = {};
}

void LlamaCopies::work_until_stopped(HostStage& own) {
  MutexLock lock(mutex_);
  while (!stopping_) {
    take_part(own);
    while (!stopping_ && round_.next >= round_.count) changed_.wait(lock);
  }
}

void LlamaCopies::take_part(HostStage& own) {
  while (round_.next < round_.count) {
    const std::size_t index = round_.next++;
    const Work& work = *round_.work;
    ++round_.running;
    {
      const MutexUnlock others_go_on(mutex_);
      work(index, own);
    }
    if (--round_.running == 0) changed_.notify_all();
  }
}

}  // namespace holdfast::llama
