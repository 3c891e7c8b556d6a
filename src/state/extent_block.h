// ExtentBlock: the attention rows of a few neighbouring tokens.
//
//   positions   0        64       128      192
//               |--------|--------|--------|
//   blocks      [  b0    )[b1 )[b2)[  b3   )     never across a multiple of 64
//
// Blocks are immutable and shared by reference, so two conversations hold a
// common prefix once. Because a block never crosses a multiple of 64, a reader
// that needs only some of its rows wastes at most 63 of them.
//
// A block may also hold the rows that a companion (engine/companion.h) has for the
// same tokens. They are valid or damaged apart from the primary's.
//
// Value semantics: made once, never changed; any thread may read. Its bytes may still be on their
// way out of a card's memory: whoever asks for them waits (state/arriving_bytes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "state/arriving_bytes.h"
#include "state/checked_bytes.h"
#include "state/state_bytes.h"
#include "state/tokens.h"

namespace holdfast {

// The engine's attention tile, and the grain at which grids are rounded.
inline constexpr TokenPos kBlockTokens = 64;

// Tokens [begin, end) of a sequence, by absolute position.
struct TokenRange {
  TokenPos begin = 0;
  TokenPos end = 0;

  [[nodiscard]] TokenPos length() const { return end - begin; }
  [[nodiscard]] bool empty() const { return begin >= end; }
  bool operator==(const TokenRange&) const = default;
};

[[nodiscard]] inline TokenRange intersection(TokenRange a, TokenRange b) {
  return {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
}

class ExtentBlock {
 public:
  // `checksum` is the maker's; whoever uses the bytes compares.
  // REQUIRES: `range` is not empty and lies between two neighbouring multiples
  // of kBlockTokens; `bytes` holds exactly its rows.
  ExtentBlock(TokenRange range, StateBytes bytes, std::uint64_t checksum = 0,
              CheckedBytes companion = {})
      : ExtentBlock(range, std::make_shared<const ArrivingBytes>(std::move(bytes), checksum),
                    std::move(companion)) {}
  // The same with bytes that may arrive later.
  ExtentBlock(TokenRange range, ArrivingBytesPtr rows, CheckedBytes companion)
      : range_(range), rows_(std::move(rows)), companion_(std::move(companion)) {
    companion_.bytes.shrink_to_fit();  // what is counted is what is held
    CHECK(0 <= range.begin && range.begin < range.end);
    CHECK(range.begin / kBlockTokens == (range.end - 1) / kBlockTokens);
    CHECK(rows_->size() > 0);
  }

  [[nodiscard]] TokenRange range() const { return range_; }
  [[nodiscard]] std::uint64_t checksum() const { return rows_->checksum(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return rows_->bytes(); }
  [[nodiscard]] const CheckedBytes& companion() const { return companion_; }
  [[nodiscard]] ByteCount size() const { return rows_->size() + companion_.bytes.size(); }

 private:
  TokenRange range_;
  ArrivingBytesPtr rows_;
  CheckedBytes companion_;
};

using ExtentBlockPtr = std::shared_ptr<const ExtentBlock>;

// Rows `range` of `block`; the other rows may belong to other tokens.
struct BlockUse {
  ExtentBlockPtr block;
  TokenRange range;
};

}  // namespace holdfast
