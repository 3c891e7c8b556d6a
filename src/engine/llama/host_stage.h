// HostStage: page-locked memory of one thread, through which pieces of tensors cross the bus.
//
// A card moves bytes to and from page-locked memory at the speed of the bus, and to ordinary memory
// at a fraction of it. Where a device has no page-locked memory, ordinary memory is used; where
// there is none of that either, pieces are moved without a stage.
//
// One thread.
#pragma once

#include <ggml-backend.h>

#include <cstddef>
#include <span>

#include "engine/llama/tensor_piece.h"

namespace holdfast::llama {

class HostStage {
 public:
  // Moved at a time: large enough for the bus, small enough for a processor's cache.
  static constexpr std::size_t kBytes = 2 << 20;

  HostStage() = default;
  ~HostStage();
  HostStage(const HostStage&) = delete;
  HostStage& operator=(const HostStage&) = delete;

  // Pieces that follow one another in a tensor, of no more than kBytes together.
  void move(std::span<const PieceOut> pieces);
  void move(std::span<const PieceIn> pieces);

 private:
  [[nodiscard]] std::byte* memory_for(const ggml_tensor* tensor);

  ggml_backend_dev_t device_ = nullptr;
  ggml_backend_buffer_t buffer_ = nullptr;
  std::byte* memory_ = nullptr;
};

}  // namespace holdfast::llama
