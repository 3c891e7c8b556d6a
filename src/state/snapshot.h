// Snapshot: the part of a state that is valid at exactly one position.
//
// That is the recurrent state, and for models with a sliding window the rows of
// the window below the position. Window rows are blocks, so that snapshots near
// each other share them:
//
//   window rows   [ w0 )[ w1 )[ w2 )[ w3 )
//   snapshot @p1  ------------------^        holds w0 w1 w2
//   snapshot @p2        ------------------^  holds    w1 w2 w3
//
// A companion's part that belongs to the same position (its hidden row, its own
// recurrent state) goes with it, valid or damaged apart from the primary's.
//
// Value semantics: made once, never changed; any thread may read.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "state/extent_block.h"

namespace holdfast {

class Snapshot {
 public:
  // `checksum` is the maker's; whoever uses the bytes compares.
  // REQUIRES: position > 0 (the empty state needs no snapshot); there are bytes
  // or window rows; the window lies below the position.
  Snapshot(TokenPos position, StateBytes bytes, std::vector<ExtentBlockPtr> window = {},
           std::uint64_t checksum = 0, CheckedBytes companion = {})
      : position_(position),
        checksum_(checksum),
        bytes_(std::move(bytes)),
        window_(std::move(window)),
        companion_(std::move(companion)) {
    bytes_.shrink_to_fit();  // what is counted is what is held
    companion_.bytes.shrink_to_fit();
    CHECK(position > 0);
    CHECK(!bytes_.empty() || !window_.empty());
    for (const ExtentBlockPtr& rows : window_) CHECK(rows && rows->range().begin < position);
  }

  [[nodiscard]] TokenPos position() const { return position_; }
  [[nodiscard]] std::uint64_t checksum() const { return checksum_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::span<const ExtentBlockPtr> window() const { return window_; }
  // Its own bytes, without the window rows that others may share.
  [[nodiscard]] const CheckedBytes& companion() const { return companion_; }
  [[nodiscard]] ByteCount size() const { return bytes_.size() + companion_.bytes.size(); }

 private:
  TokenPos position_;
  std::uint64_t checksum_;
  StateBytes bytes_;
  std::vector<ExtentBlockPtr> window_;
  CheckedBytes companion_;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace holdfast
