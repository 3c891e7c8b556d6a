// Snapshot: the part of a state that is valid at exactly one position.
//
// That is the recurrent state, and for models with a sliding window the window as it
// stood there: each snapshot holds its own.
//
// A companion's part that belongs to the same position (its hidden row, its own
// recurrent state) goes with it, valid or damaged apart from the primary's.
//
// Value semantics: made once, never changed; any thread may read. Its bytes may still be on their
// way out of a card's memory: whoever asks for them waits (state/arriving_bytes.h).
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "state/arriving_bytes.h"
#include "state/checked_bytes.h"
#include "state/state_bytes.h"
#include "state/tokens.h"

namespace holdfast {

class Snapshot {
 public:
  // `checksum` is the maker's; whoever uses the bytes compares.
  // REQUIRES: position > 0 (the empty state needs no snapshot); there are bytes.
  Snapshot(TokenPos position, StateBytes bytes, std::uint64_t checksum = 0,
           CheckedBytes companion = {})
      : Snapshot(position, std::make_shared<const ArrivingBytes>(std::move(bytes), checksum),
                 std::move(companion)) {}
  // The same with bytes that may arrive later.
  Snapshot(TokenPos position, ArrivingBytesPtr state, CheckedBytes companion)
      : position_(position), state_(std::move(state)), companion_(std::move(companion)) {
    companion_.bytes.shrink_to_fit();  // what is counted is what is held
    CHECK(position > 0);
    CHECK(state_->size() > 0);
  }

  [[nodiscard]] TokenPos position() const { return position_; }
  [[nodiscard]] std::uint64_t checksum() const { return state_->checksum(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return state_->bytes(); }
  [[nodiscard]] const CheckedBytes& companion() const { return companion_; }
  [[nodiscard]] ByteCount size() const { return state_->size() + companion_.bytes.size(); }

 private:
  TokenPos position_;
  ArrivingBytesPtr state_;
  CheckedBytes companion_;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace holdfast
