// Companion: an optional second model (MTP head, draft model, or just a look at
// the tokens so far) that follows the primary's slots and proposes tokens.
//
//   follow    the primary's slot was brought to these tokens; come as near as you can
//   advance   the primary's latest batch appended these, and they stay
//   draft     what may come next?
//   save      what of you belongs beside the primary's state, in memory
//
// It has no way to refuse, to fail loudly or to change the primary (H5): every
// answer is a smaller number or fewer bytes. One that cannot be trimmed answers 0
// and starts over; a draft that is nonsense is rejected, token by token.
//
// Its state has the same kinds of parts as the primary's: rows, one for each token,
// and what is valid at one place only (the hidden row that an MTP head carries, the
// recurrent state of a draft model). Rows are kept in the same blocks as the
// primary's and shared like them; the rest goes with the snapshot at its place.
//
// Same thread as the Engine.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "state/checked_bytes.h"
#include "state/tokens.h"

namespace holdfast::engine {

// Bytes that a companion wants kept, at most.
struct CompanionShape {
  ByteCount bytes_per_token = 0;  // rows
  ByteCount bytes_per_place = 0;  // what is valid at one position only
};

// Where the primary went, and what memory holds of the companion's state there.
struct CompanionPoint {
  TokenSpan tokens;                // exactly what the primary's slot now holds
  std::span<const RowsView> rows;  // of the companion, ascending; may have gaps and end early
  CheckedView place;               // at tokens.size(); empty: not kept
};

struct Followed {
  TokenPos held = 0;              // of the tokens, counted from the first: 0 .. tokens.size()
  TokenPos from_memory = 0;       // how many of those were brought back
  const char* missing = nullptr;  // why it holds fewer than all, for people
};

// What memory should hold; parts with no bytes are not there to be kept.
struct CompanionSaved {
  std::vector<CheckedBytes> rows;  // one for each block asked for
  CheckedBytes place;              // of the position where the slot stands
};

struct DraftWish {
  SlotId slot;
  Token next = 0;     // sampled, and not yet computed by the primary
  TokenPos most = 0;  // tokens wanted after it, at least 1
  float least_probability =
      0.0F;             // a token less likely than this is not proposed, nor any after it
  Tokens draft;         // the answer; empty: no idea
  bool behind = false;  // or it is still reading what the primary has read
};

class Companion {
 public:
  virtual ~Companion() = default;

  // "mtp", "draft" or "ngram", for receipts and metrics.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual CompanionShape shape() const noexcept = 0;

  [[nodiscard]] virtual Followed follow(SlotId slot, const CompanionPoint& point) noexcept = 0;

  // To be called after each prefill or decode of the slot and before the engine's
  // next batch, with those of the batch's tokens, from `first_row` on, that were right
  // and that it was not told of before.
  virtual void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept = 0;

  // Several slots at once, each with its own wish.
  virtual void draft(std::span<DraftWish> wishes) noexcept = 0;

  // What it has of the given blocks, and of the place after `length` tokens.
  // REQUIRES: the primary's slot holds `length` tokens, and the blocks lie within them.
  [[nodiscard]] virtual CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                            TokenPos length) noexcept = 0;
};

}  // namespace holdfast::engine
