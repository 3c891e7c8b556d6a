// MemoryBudget: how many bytes memory may hold, and how many of them are free.
//
//   [ held by the tree | promised to what is on its way |          free          )
//   0                                                                        total()
//
// It counts and decides nothing: who makes way for whom is RoomMaker's (cache/room_maker.h).
//
// Invariants, verified by check():
//   BUDGET-1  held and promised bytes never exceed the total
//   BUDGET-2  nor did the most that was ever held
//
// One owning thread, that of the engine; enabled() may be asked by any.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "tree/token_tree.h"

namespace holdfast::cache {

class MemoryBudget {
 public:
  // REQUIRES: `tree`, whose bytes are those that are held, outlives it.
  MemoryBudget(const tree::TokenTree& tree, ByteCount total) : tree_(tree), total_(total) {}

  [[nodiscard]] ByteCount total() const { return total_; }
  [[nodiscard]] ByteCount free() const {
    return retired_ ? 0 : total_ - tree_.bytes().resident - promised_;
  }
  // May be asked by any thread.
  [[nodiscard]] bool enabled() const { return total_ > 0 && !retired_; }
  // There was a budget, and nothing is taken in any more.
  [[nodiscard]] bool retired() const { return retired_; }
  // From now on there is no room, as if the budget had been 0.
  void retire() { retired_ = true; }

  // To be told when bytes have been added to the tree.
  void note_added() { peak_ = std::max(peak_, tree_.bytes().resident); }
  // The most that was ever held.
  [[nodiscard]] ByteCount peak() const { return peak_; }

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  friend class RoomHold;

  const tree::TokenTree& tree_;
  const ByteCount total_;
  ByteCount promised_ = 0;  // by holds
  ByteCount peak_ = 0;
  std::atomic<bool> retired_{false};
};

// Room for bytes that are on their way. Counts as taken while it lives, which must not be
// longer than the budget does.
class RoomHold {
 public:
  RoomHold() = default;
  RoomHold(MemoryBudget& budget, ByteCount bytes) : budget_(&budget), bytes_(bytes) {
    budget.promised_ += bytes;
  }
  RoomHold(RoomHold&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
  RoomHold& operator=(RoomHold&& other) noexcept {
    release();
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = other.bytes_;
    return *this;
  }
  ~RoomHold() { release(); }

  void release() {
    if (budget_ != nullptr) std::exchange(budget_, nullptr)->promised_ -= bytes_;
  }

 private:
  MemoryBudget* budget_ = nullptr;
  ByteCount bytes_ = 0;
};

}  // namespace holdfast::cache
