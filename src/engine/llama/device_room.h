// DeviceRoom: memory on cards for snapshots, each in a berth of its own.
//
//   taken    the snapshot is on its way out of the card
//   holding  it has left, and its berth still has it: bringing it back is a copy within the card
//   free     nobody holds those bytes any more
//
// A recurrent state is overwritten by the next step. A card copies it beside itself in a fraction
// of a millisecond; from its berth it can leave at leisure. Berths are made anew as long as there
// is room, then the one that was used least recently is used again: taking and giving back a card's
// memory holds up the whole card.
//
// Invariants, tested by late_copies_test.cc:
//   BERTH-1  the berths of one device together are no larger than its limit
//           (LateCopiesOnAProcessor.BerthsStayWithinTheirLimit)
//   BERTH-2  a berth that is taken is nobody else's until it is given back
//   BERTH-3  a berth is found for the bytes that it was taken for, as long as somebody holds them
//           (LateCopiesOnAProcessor.WhatABerthHoldsComesBackFromThere)
//
// Not synchronised: its owner locks.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "state/arriving_bytes.h"
#include "state/tokens.h"

namespace holdfast::llama {

// A tensor of bytes that lies at this address in the buffer.
[[nodiscard]] ggml_tensor byte_tensor(ggml_backend_buffer_t buffer, void* data, std::size_t size);

class DeviceRoom {
 public:
  struct FreeBuffer {
    void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
  };
  struct Berth {
    ggml_backend_dev_t device = nullptr;
    std::unique_ptr<ggml_backend_buffer, FreeBuffer> buffer;
    ggml_tensor bytes{};  // all of them
    bool taken = false;
    std::weak_ptr<const ArrivingBytes> holds;
    const std::byte* held_at = nullptr;  // where those are in ordinary memory
    // Of the bytes, those that are no tensors' and come from ordinary memory.
    std::vector<std::span<const std::byte>> others;
    std::uint64_t others_checksum = 0;
    std::uint64_t used = 0;  // the higher, the later

    [[nodiscard]] std::size_t size() const { return ggml_nbytes(&bytes); }
    [[nodiscard]] bool free() const { return !taken && holds.expired(); }
  };

  // `limit` holds for each device; none: a tenth of what is free there at the first berth, at most
  // 1 GiB.
  explicit DeviceRoom(std::optional<ByteCount> limit) : limit_(limit) {}

  // For as many bytes as these are. Null: there is no room now.
  [[nodiscard]] Berth* take(ggml_backend_dev_t device,
                            const std::shared_ptr<const ArrivingBytes>& bytes);
  static void give_back(Berth& berth) { berth.taken = false; }
  // The berth that holds the bytes which are there in ordinary memory; null: none does.
  [[nodiscard]] const Berth* find(ggml_backend_dev_t device, const std::byte* held_at);

  [[nodiscard]] bool any_taken() const;
  [[nodiscard]] ByteCount bytes_on(ggml_backend_dev_t device) const;

 private:
  [[nodiscard]] ByteCount limit_of(ggml_backend_dev_t device);
  [[nodiscard]] Berth* make(ggml_backend_dev_t device, std::size_t bytes);
  [[nodiscard]] Berth* least_recent(ggml_backend_dev_t device, std::size_t bytes);
  void drop_idle(ggml_backend_dev_t device);

  const std::optional<ByteCount> limit_;
  std::map<ggml_backend_dev_t, ByteCount> found_limits_;
  std::vector<std::unique_ptr<Berth>> berths_;
  std::uint64_t uses_ = 0;
};

}  // namespace holdfast::llama
