// LateCopies: states that leave a card's memory while the card computes on.
//
//   begin()            snapshot --the computing stream--> berth     an event behind both
//                      rows stay where they are                          |
//   copying threads    wait for the event  <-----------------------------'
//                      card --bus--> page-locked memory --memcpy--> memory, checksum, arrive()
//
// A snapshot is overwritten by the next step, so it is copied beside itself first, in the order of
// what the card computes: neither the card nor the caller waits. Rows are written once. They are
// copied from where they lie, and whoever is about to write there settles the slot first.
//
// A berth goes on holding its snapshot until another needs the room. As long as it does, the
// snapshot comes back from there: bring_back().
//
// Only devices whose transfers have a queue for each thread are used this way; a state that lies
// elsewhere, in part or as a whole, is not taken (can_take()).
//
// Invariants, tested by late_copies_test.cc:
//   LATE-1  the bytes that arrive are those that the tensors held at begin(), whatever is written
//           into them afterwards; into rows after settle()
//           (LateCopiesOnAProcessor.WhatArrivesIsWhatWasThereAtTheBeginning)
//   LATE-2  all bytes arrive or fail, at the latest in the destructor, and none is held here after
//           that (LateCopiesOnAProcessor.EverythingArrivesBeforeTheEnd, .WhatNobodyWantsIsLetGo)
//   LATE-3  what bring_back() brings are the bytes that the snapshot was made of
//           (LateCopiesOnAProcessor.WhatABerthHoldsComesBackFromThere)
//
// One calling thread, that of the engine.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "engine/llama/device_room.h"
#include "engine/llama/host_stage.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/tensor_piece.h"
#include "state/arriving_bytes.h"
#include "state/slot_id.h"
#include "state/tokens.h"

namespace holdfast::llama {

// Pieces of tensors, and the bytes that they make up.
struct LatePart {
  std::vector<PieceOut> pieces;  // into the room of these:
  std::vector<std::shared_ptr<ArrivingBytes>> bytes;
  // Rows: the slot, and the last of its tokens among them plus one.
  SlotId slot{-1};
  TokenPos rows_end = 0;
};

class LateCopies {
 public:
  // `backends` compute on the tensors and outlive this. `limit` bounds the berths of each device;
  // none: a tenth of what is free there, at most 1 GiB.
  LateCopies(std::vector<ggml_backend_t> backends, LateCopying use, std::optional<ByteCount> limit);
  ~LateCopies();
  LateCopies(const LateCopies&) = delete;
  LateCopies& operator=(const LateCopies&) = delete;

  [[nodiscard]] bool can_take(std::span<const PieceOut> pieces) const;

  // Rows of a slot, which nobody writes before the slot is settled. REQUIRES: can_take() them.
  void begin_rows(std::vector<LatePart> parts);
  // A snapshot: tensors that the next step may overwrite; `part.pieces` ascend in the one block of
  // bytes that there is, and what lies between them has been written. False: there is no room on
  // the card, and nothing was begun. Waits for room where others are about to leave it. REQUIRES:
  // can_take() them.
  [[nodiscard]] bool begin_snapshot(LatePart part);

  // Whether berths hold the tensors of the snapshot that is there in ordinary memory, and its other
  // bytes are what they were.
  [[nodiscard]] bool holds(std::span<const std::byte> snapshot);
  // Copies these pieces of it back, in the order of what is computed. False: nothing was done.
  [[nodiscard]] bool bring_back(std::span<const std::byte> snapshot,
                                std::span<const PieceIn> pieces);

  // Returns when no row of the slot's tokens from `position` on is being copied.
  void settle(SlotId slot, TokenPos position);
  // Returns when nothing is being copied.
  void settle_all();
  // What berths take there.
  [[nodiscard]] ByteCount room_on(ggml_backend_dev_t device);

 private:
  // What has to be computed before a part can be copied.
  struct Gate;
  struct Order {
    LatePart part;
    std::shared_ptr<Gate> gate;
    std::vector<DeviceRoom::Berth*> berths;
  };
  using Orders = std::deque<std::unique_ptr<Order>>;

  [[nodiscard]] ggml_backend_t backend_of(ggml_backend_dev_t device) const;
  [[nodiscard]] std::shared_ptr<Gate> gate_behind(std::span<const LatePart> parts) const;
  [[nodiscard]] bool take_berths(Order& order);
  void copy_aside(Order& order) const;
  void enqueue(std::unique_ptr<Order> order) REQUIRES_LOCK(mutex_);
  void work_until_stopped();
  static void carry_out(const Order& order, HostStage& stage);
  [[nodiscard]] bool copies_rows(SlotId slot, TokenPos from) const REQUIRES_LOCK(mutex_);

  const std::vector<ggml_backend_t> backends_;
  const LateCopying use_;
  std::vector<std::thread> threads_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  DeviceRoom room_ GUARDED_BY(mutex_);
  Orders waiting_ GUARDED_BY(mutex_);
  std::vector<const Order*> running_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::llama
