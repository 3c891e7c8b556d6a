#include "engine/llama/device_room.h"

#include <algorithm>

namespace holdfast::llama {

namespace {

constexpr std::size_t kShareOfFree = 10;
constexpr ByteCount kMost = ByteCount{1} << 30;

}  // namespace

ggml_tensor byte_tensor(ggml_backend_buffer_t buffer, void* data, std::size_t size) {
  ggml_tensor tensor{};
  tensor.type = GGML_TYPE_I8;
  tensor.buffer = buffer;
  tensor.data = data;
  tensor.ne[0] = static_cast<std::int64_t>(size);
  tensor.nb[0] = 1;
  for (int i = 1; i < GGML_MAX_DIMS; ++i) {
    tensor.ne[i] = 1;
    tensor.nb[i] = size;
  }
  return tensor;
}

DeviceRoom::Berth* DeviceRoom::take(ggml_backend_dev_t device,
                                    const std::shared_ptr<const ArrivingBytes>& bytes) {
  const auto suits = [&](const auto& berth) {
    return berth->free() && berth->device == device && berth->size() >= bytes->size();
  };
  const auto found = std::ranges::find_if(berths_, suits);
  Berth* berth = found != berths_.end() ? found->get() : make(device, bytes->size());
  if (berth == nullptr) berth = least_recent(device, bytes->size());
  if (berth == nullptr && !any_taken()) {  // they have other sizes
    drop_idle(device);
    berth = make(device, bytes->size());
  }
  if (berth == nullptr) return nullptr;
  berth->taken = true;
  berth->holds = bytes;
  berth->held_at = const_cast<ArrivingBytes&>(*bytes).room().data();
  berth->used = ++uses_;
  return berth;
}

DeviceRoom::Berth* DeviceRoom::make(ggml_backend_dev_t device, std::size_t bytes) {
  if (bytes_on(device) + bytes > limit_of(device)) return nullptr;
  auto* const made = ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(device), bytes);
  if (made == nullptr) return nullptr;
  auto& berth = berths_.emplace_back(std::make_unique<Berth>());
  berth->device = device;
  berth->buffer.reset(made);
  berth->bytes = byte_tensor(made, ggml_backend_buffer_get_base(made), bytes);
  return berth.get();
}

DeviceRoom::Berth* DeviceRoom::least_recent(ggml_backend_dev_t device, std::size_t bytes) {
  Berth* least = nullptr;
  for (const auto& berth : berths_) {
    if (berth->taken || berth->device != device || berth->size() < bytes) continue;
    if (least == nullptr || berth->used < least->used) least = berth.get();
  }
  return least;
}

const DeviceRoom::Berth* DeviceRoom::find(ggml_backend_dev_t device, const std::byte* held_at) {
  for (const auto& berth : berths_) {
    if (berth->device != device || berth->held_at != held_at || berth->holds.expired()) continue;
    berth->used = ++uses_;
    return berth.get();
  }
  return nullptr;
}

bool DeviceRoom::any_taken() const {
  return std::ranges::any_of(berths_, [](const auto& berth) { return berth->taken; });
}

ByteCount DeviceRoom::bytes_on(ggml_backend_dev_t device) const {
  ByteCount sum = 0;
  for (const auto& berth : berths_) sum += berth->device == device ? berth->size() : 0;
  return sum;
}

ByteCount DeviceRoom::limit_of(ggml_backend_dev_t device) {
  if (limit_) return *limit_;
  const auto [known, unknown] = found_limits_.try_emplace(device, 0);
  if (unknown) {
    std::size_t free = 0;
    std::size_t total = 0;
    ggml_backend_dev_memory(device, &free, &total);
    known->second = std::min<ByteCount>(free / kShareOfFree, kMost);
  }
  return known->second;
}

// Those of a size that is no longer wanted.
void DeviceRoom::drop_idle(ggml_backend_dev_t device) {
  std::erase_if(berths_,
                [&](const auto& berth) { return berth->device == device && !berth->taken; });
}

}  // namespace holdfast::llama
