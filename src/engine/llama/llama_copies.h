// LlamaCopies: moves bytes between ordinary memory and the library's tensors, several pieces at a
// time where they lie on a card.
//
//   card  --bus-->  page-locked memory of thread 1  --memcpy-->  memory
//         --bus-->  page-locked memory of thread 2  --memcpy-->  memory
//
// A single thread moves about 2 GB/s between a card and memory that is touched for the first
// time: it waits for the bus, for the system to hand out pages, and for its own copy, one after the
// other. A few threads wait at the same time. Only backends whose transfers have a queue for each
// thread are used this way (CUDA, and backends that are built from its source). All other pieces
// are moved in the calling thread, and so are those of tensors that the processor reaches itself.
// Pieces that follow one another in a tensor cross the bus together, so callers name them in that
// order.
//
// The threads start with the first copy that needs them. One caller at a time.
//
// Invariants, tested by llama_copies_test.cc:
//   COPY-1  when a call returns, every piece has been moved, and no thread touches its bytes
//           (Copies.EveryPieceComesOutAndNothingElseIsTouched)
//   COPY-2  pieces are moved unchanged, with any number of threads
//           (Copies.EveryPieceGoesInAndNothingElseIsTouched)
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "engine/llama/host_stage.h"
#include "engine/llama/tensor_piece.h"

namespace holdfast::llama {

class LlamaCopies {
 public:
  // kAlways: with threads wherever the tensors lie, for tests.
  enum class Threads { kWhereTheyHelp, kAlways };
  explicit LlamaCopies(Threads threads = Threads::kWhereTheyHelp);
  ~LlamaCopies();
  LlamaCopies(const LlamaCopies&) = delete;
  LlamaCopies& operator=(const LlamaCopies&) = delete;

  // REQUIRES: nothing is being computed, and no two pieces overlap in a tensor or in memory.
  void out(std::span<const PieceOut> pieces);
  void in(std::span<const PieceIn> pieces);

  // Calls work(0) to work(count - 1), several at a time if the tensor's bytes would be moved by
  // several threads. For checksums, which take as long as moving the bytes. `work` must not throw.
  void each(const ggml_tensor* like, std::size_t count,
            const std::function<void(std::size_t)>& work);

 private:
  using Work = std::function<void(std::size_t index, HostStage& own)>;
  // What the threads do together: each takes the next index until there is none.
  struct Round {
    const Work* work = nullptr;
    std::size_t count = 0;
    std::size_t next = 0;
    std::size_t running = 0;
  };

  [[nodiscard]] bool several(const ggml_tensor* tensor) const;
  template <typename Byte>
  void move_all(std::span<const TensorPiece<Byte>> pieces);
  void run(std::size_t count, const Work& work);
  void start();
  void work_until_stopped(HostStage& own);
  void take_part(HostStage& own) REQUIRES_LOCK(mutex_);

  const Threads threads_;
  std::vector<std::unique_ptr<HostStage>> stages_;  // the caller's, then one for each worker
  std::vector<std::thread> workers_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  Round round_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::llama
