#include "engine/llama/host_stage.h"

#include <cstring>

namespace holdfast::llama {

namespace {

template <typename Byte>
std::size_t bytes_of(std::span<const TensorPiece<Byte>> pieces) {
  return pieces.back().offset + pieces.back().size - pieces.front().offset;
}

}  // namespace

HostStage::~HostStage() {
  if (buffer_ != nullptr) ggml_backend_buffer_free(buffer_);
}

void HostStage::move(std::span<const PieceOut> pieces) {
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

void HostStage::move(std::span<const PieceIn> pieces) {
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

std::byte* HostStage::memory_for(const ggml_tensor* tensor) {
  ggml_backend_dev_t device = device_of(tensor);
  if (buffer_ != nullptr && device == device_) return memory_;
  if (buffer_ != nullptr) ggml_backend_buffer_free(buffer_);
  device_ = device;
  auto kind = device ? ggml_backend_dev_host_buffer_type(device) : nullptr;
  if (kind == nullptr) kind = ggml_backend_cpu_buffer_type();
  buffer_ = ggml_backend_buft_alloc_buffer(kind, kBytes);
  memory_ = buffer_ ? static_cast<std::byte*>(ggml_backend_buffer_get_base(buffer_)) : nullptr;
  return memory_;
}

}  // namespace holdfast::llama
