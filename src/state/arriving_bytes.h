// ArrivingBytes: bytes of a state and their maker's checksum, which may still be on their way out
// of a card's memory.
//
//   engine's thread    makes them: the size is known, so blocks, tree and budgets go on
//   copying thread     fills room(), then arrive()
//   any other thread   bytes() and checksum() wait until then
//
// Bytes that are dropped before they arrive stay alive for as long as they are being copied.
//
// Invariants, tested by arriving_bytes_test.cc:
//   ARRIVE-1  whoever reads sees every byte that was brought
//             (ArrivingBytes.WhoeverReadsWaitsForAllOfThem)
//   ARRIVE-2  bytes that could not be brought do not match their checksum, so whoever verifies them
//             refuses them (ArrivingBytes.WhatFailedIsDamaged)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/hash.h"
#include "state/state_bytes.h"

namespace holdfast {

class ArrivingBytes {
 public:
  // They are here. `checksum` is the maker's; whoever uses the bytes compares.
  ArrivingBytes(StateBytes bytes, std::uint64_t checksum)
      : bytes_(std::move(bytes)), checksum_(checksum), here_(true) {
    bytes_.shrink_to_fit();  // what is counted is what is held
  }
  // They will be brought.
  explicit ArrivingBytes(std::size_t size) { bytes_.resize(size); }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool here() const { return here_.load(std::memory_order_acquire); }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    wait();
    return bytes_;
  }
  [[nodiscard]] std::uint64_t checksum() const {
    wait();
    return checksum_;
  }

  // --- for the one thread that brings them ---
  [[nodiscard]] std::span<std::byte> room() { return bytes_; }
  void arrive() { settle(hash_bytes(bytes_)); }
  // They cannot be brought, or nobody wants them any more.
  void fail() { settle(~hash_bytes(bytes_)); }

 private:
  void wait() const { here_.wait(false, std::memory_order_acquire); }
  void settle(std::uint64_t checksum) {
    checksum_ = checksum;
    here_.store(true, std::memory_order_release);
    here_.notify_all();
  }

  StateBytes bytes_;
  std::uint64_t checksum_ = 0;
  std::atomic<bool> here_ = false;
};

using ArrivingBytesPtr = std::shared_ptr<const ArrivingBytes>;

}  // namespace holdfast
