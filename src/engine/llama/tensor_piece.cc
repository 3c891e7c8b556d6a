#include "engine/llama/tensor_piece.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace holdfast::llama {

bool on_host(const ggml_tensor* tensor) { return ggml_backend_buffer_is_host(buffer_of(tensor)); }

ggml_backend_buffer_t buffer_of(const ggml_tensor* tensor) {
  return tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
}

// The processor's own buffers name no device.
ggml_backend_dev_t device_of(const ggml_tensor* tensor) {
  auto* const device =
      ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buffer_of(tensor)));
  return device != nullptr ? device : ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
}

bool has_queue_for_each_thread(ggml_backend_dev_t device) {
  if (device == nullptr) return false;
  const std::string_view name = ggml_backend_reg_name(ggml_backend_dev_backend_reg(device));
  constexpr std::array<std::string_view, 3> kNames = {"CUDA", "ROCm", "MUSA"};
  return std::ranges::find(kNames, name) != kNames.end();
}

template <typename Byte>
void Shipments<Byte>::add(const TensorPiece<Byte>& piece) {
  for (std::size_t done = 0; done < piece.size;) {
    const TensorPiece<Byte>* last = pieces_.empty() ? nullptr : &pieces_.back();
    const std::size_t offset = piece.offset + done;
    const bool follows =
        last != nullptr && last->tensor == piece.tensor && last->offset + last->size == offset;
    if (!follows || room_ == 0) {
      begins_.push_back(pieces_.size());
      room_ = most_;
    }
    const std::size_t some = std::min(room_, piece.size - done);
    pieces_.push_back({piece.tensor, offset, some, piece.memory + done});
    done += some;
    room_ -= some;
  }
}

template <typename Byte>
std::span<const TensorPiece<Byte>> Shipments<Byte>::operator[](std::size_t i) const {
  const std::size_t end = i + 1 < begins_.size() ? begins_[i + 1] : pieces_.size();
  return std::span(pieces_).subspan(begins_[i], end - begins_[i]);
}

template class Shipments<std::byte>;
template class Shipments<const std::byte>;

}  // namespace holdfast::llama
