// Pieces of the library's tensors, and where their bytes are, or go to, in ordinary memory.
#pragma once

#include <ggml-backend.h>

#include <cstddef>
#include <span>
#include <vector>

namespace holdfast::llama {

// `size` bytes of a tensor, and where they are, or go to, in memory.
template <typename Byte>
struct TensorPiece {
  ggml_tensor* tensor = nullptr;
  std::size_t offset = 0;
  std::size_t size = 0;
  Byte* memory = nullptr;
};
using PieceOut = TensorPiece<std::byte>;
using PieceIn = TensorPiece<const std::byte>;

// Whether the processor can reach the tensor's bytes itself.
[[nodiscard]] bool on_host(const ggml_tensor* tensor);
[[nodiscard]] ggml_backend_buffer_t buffer_of(const ggml_tensor* tensor);
[[nodiscard]] ggml_backend_dev_t device_of(const ggml_tensor* tensor);
// Whether several threads may move bytes of the device at a time, each in a queue of its own,
// beside what it computes. So it is with CUDA, and with backends for other cards that are built
// from its source.
[[nodiscard]] bool has_queue_for_each_thread(ggml_backend_dev_t device);

// Pieces as they cross the bus together: those that follow one another in a tensor, of no more
// than `most` bytes. A larger piece is divided.
template <typename Byte>
class Shipments {
 public:
  Shipments(std::size_t most) : most_(most) {}

  void add(const TensorPiece<Byte>& piece);
  [[nodiscard]] std::size_t count() const { return begins_.size(); }
  [[nodiscard]] std::span<const TensorPiece<Byte>> operator[](std::size_t i) const;

 private:
  const std::size_t most_;
  std::vector<TensorPiece<Byte>> pieces_;
  std::vector<std::size_t> begins_;  // of each shipment, among the pieces
  std::size_t room_ = 0;             // of the last one
};

extern template class Shipments<std::byte>;
extern template class Shipments<const std::byte>;

}  // namespace holdfast::llama
