#include "engine/llama/llama_copies.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace holdfast::llama {

namespace {

// More threads are not faster: the bus and memory are the limit.
constexpr unsigned kThreadsMax = 4;
// Moved at a time: large enough for the bus, small enough for a processor's cache.
constexpr std::size_t kStageBytes = 2 << 20;

ggml_backend_buffer_t buffer_of(const ggml_tensor* tensor) {
  return tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
}

ggml_backend_dev_t device_of(const ggml_tensor* tensor) {
  return ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buffer_of(tensor)));
}

// CUDA, and backends for other cards that are built from its source.
bool has_queue_for_each_thread(ggml_backend_dev_t device) {
  if (device == nullptr) return false;
  const std::string_view name = ggml_backend_reg_name(ggml_backend_dev_backend_reg(device));
  constexpr std::array<std::string_view, 3> kNames = {"CUDA", "ROCm", "MUSA"};
  return std::ranges::find(kNames, name) != kNames.end();
}

void move_directly(const PieceOut& piece) {
  ggml_backend_tensor_get(piece.tensor, piece.memory, piece.offset, piece.size);
}

void move_directly(const PieceIn& piece) {
  ggml_backend_tensor_set(piece.tensor, piece.memory, piece.offset, piece.size);
}

}  // namespace

bool on_host(const ggml_tensor* tensor) { return ggml_backend_buffer_is_host(buffer_of(tensor)); }

// --- a thread's own memory ---------------------------------------------------------------

// Ordinary memory is used if the device has no page-locked memory. If there is neither, pieces are
// moved without a stage.
class LlamaCopies::Stage {
 public:
  Stage() = default;
  ~Stage() {
    if (buffer_ != nullptr) ggml_backend_buffer_free(buffer_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Pieces that follow one another in a tensor, of no more than kStageBytes together.
  void move(std::span<const PieceOut> pieces) {
    ggml_tensor* const tensor = pieces.front().tensor;
    std::byte* from = memory_for(tensor);
    if (from == nullptr) {
      for (const PieceOut& one : pieces) {
        ggml_backend_tensor_get(tensor, one.memory, one.offset, one.size);
      }
      return;
    }
    ggml_backend_tensor_get(tensor, from, pieces.front().offset, bytes_of(pieces));
    for (const PieceOut& one : pieces) {
      std::memcpy(one.memory, from, one.size);
      from += one.size;
    }
  }

  void move(std::span<const PieceIn> pieces) {
    ggml_tensor* const tensor = pieces.front().tensor;
    std::byte* const staged = memory_for(tensor);
    if (staged == nullptr) {
      for (const PieceIn& one : pieces) {
        ggml_backend_tensor_set(tensor, one.memory, one.offset, one.size);
      }
      return;
    }
    std::byte* into = staged;
    for (const PieceIn& one : pieces) {
      std::memcpy(into, one.memory, one.size);
      into += one.size;
    }
    ggml_backend_tensor_set(tensor, staged, pieces.front().offset, bytes_of(pieces));
  }

 private:
  template <typename Byte>
  static std::size_t bytes_of(std::span<const TensorPiece<Byte>> pieces) {
    return pieces.back().offset + pieces.back().size - pieces.front().offset;
  }

  std::byte* memory_for(const ggml_tensor* tensor) {
    ggml_backend_dev_t device = device_of(tensor);
    if (buffer_ != nullptr && device == device_) return memory_;
    if (buffer_ != nullptr) ggml_backend_buffer_free(buffer_);
    device_ = device;
    auto kind = device ? ggml_backend_dev_host_buffer_type(device) : nullptr;
    if (kind == nullptr) kind = ggml_backend_cpu_buffer_type();
    buffer_ = ggml_backend_buft_alloc_buffer(kind, kStageBytes);
    memory_ = buffer_ ? static_cast<std::byte*>(ggml_backend_buffer_get_base(buffer_)) : nullptr;
    return memory_;
  }

  ggml_backend_dev_t device_ = nullptr;
  ggml_backend_buffer_t buffer_ = nullptr;
  std::byte* memory_ = nullptr;
};

// --- moving ------------------------------------------------------------------------------

bool LlamaCopies::several(const ggml_tensor* tensor) const {
  if (threads_ == Threads::kAlways) return true;
  return !on_host(tensor) && has_queue_for_each_thread(device_of(tensor));
}

template <typename Byte>
void LlamaCopies::move_all(std::span<const TensorPiece<Byte>> pieces) {
  using Piece = TensorPiece<Byte>;
  std::vector<Piece> shared;        // those of several threads, none larger than a stage
  std::vector<std::size_t> begins;  // of what one thread moves at a time
  std::size_t room = 0;             // of its stage
  for (const Piece& piece : pieces) {
    if (!several(piece.tensor)) {
      move_directly(piece);
      continue;
    }
    for (std::size_t done = 0; done < piece.size;) {
      const Piece* last = shared.empty() ? nullptr : &shared.back();
      const std::size_t offset = piece.offset + done;
      const bool follows =
          last && last->tensor == piece.tensor && last->offset + last->size == offset;
      if (!follows || room == 0) {
        begins.push_back(shared.size());
        room = kStageBytes;
      }
      const std::size_t some = std::min(room, piece.size - done);
      shared.push_back({piece.tensor, offset, some, piece.memory + done});
      done += some;
      room -= some;
    }
  }
  run(begins.size(), [&](std::size_t i, Stage& own) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : shared.size();
    own.move(std::span<const Piece>(shared).subspan(begins[i], end - begins[i]));
  });
}

void LlamaCopies::out(std::span<const PieceOut> pieces) { move_all(pieces); }
void LlamaCopies::in(std::span<const PieceIn> pieces) { move_all(pieces); }

void LlamaCopies::each(const ggml_tensor* like, std::size_t count,
                       const std::function<void(std::size_t)>& work) {
  if (several(like)) return run(count, [&](std::size_t i, Stage&) { work(i); });
  for (std::size_t i = 0; i < count; ++i) work(i);
}

// --- threads -----------------------------------------------------------------------------

LlamaCopies::LlamaCopies(Threads threads) : threads_(threads) {
  stages_.push_back(std::make_unique<Stage>());
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
    Stage& own = *stages_.emplace_back(std::make_unique<Stage>());
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

void LlamaCopies::work_until_stopped(Stage& own) {
  MutexLock lock(mutex_);
  while (!stopping_) {
    take_part(own);
    while (!stopping_ && round_.next >= round_.count) changed_.wait(lock);
  }
}

void LlamaCopies::take_part(Stage& own) {
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
