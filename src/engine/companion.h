// Companion: an optional second model (MTP head, draft model, or just a look at
// the tokens so far) that follows the primary's slots and proposes tokens.
//
//   follow    the primary's slot now holds these tokens: hold as many of them as you can
//   advance   the primary's latest batch appended these tokens, and they stay
//   draft     propose what may come next
//   save      copy out what should be kept beside the primary's state
//
// A companion has no way to refuse, to fail loudly or to change the primary (H5 in
// docs/design.md): a failure makes the number or the bytes in its answer smaller. A companion that
// cannot be trimmed answers 0 and starts over; wrong drafts are rejected, token by token.
//
// Its state has the same kinds of parts as the primary's: rows, one for each token, and bytes that
// are valid at one position only (the hidden row that an MTP head carries, the recurrent state of a
// draft model). Rows are kept in the same blocks as the primary's and shared like them; bytes of a
// position are kept with the snapshot there.
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

// How many bytes of a companion are kept, at most.
struct CompanionShape {
  ByteCount bytes_per_token = 0;  // rows
  ByteCount bytes_per_place = 0;  // those that are valid at one position only
};

// Where the primary went, and what memory holds of the companion's state there.
struct CompanionPoint {
  TokenSpan tokens;                // exactly what the primary's slot now holds
  std::span<const RowsView> rows;  // the companion's, ascending; may have gaps and end early
  CheckedView place;               // its bytes of position tokens.size(); empty: not kept
};

struct Followed {
  TokenPos held = 0;              // how many tokens it holds, counted from the first
  TokenPos from_memory = 0;       // how many of those were restored from memory
  const char* missing = nullptr;  // for people: why it does not hold all tokens; null: it does
};

// What memory should keep. Where a part has no bytes there is nothing to keep.
struct CompanionSaved {
  std::vector<CheckedBytes> rows;  // one for each block asked for
  CheckedBytes place;              // of the position after the slot's last token
};

struct DraftWish {
  SlotId slot;
  Token next = 0;     // sampled, and not yet computed by the primary
  TokenPos most = 0;  // tokens wanted after it, at least 1
  // A token that is less likely than this is not proposed, and no token after it.
  float least_probability = 0.0F;
  Tokens draft;         // the answer; empty: nothing is proposed,
  bool behind = false;  // and if this is set, because it is still reading the primary's tokens
};

class Companion {
 public:
  virtual ~Companion() = default;

  // "mtp", "draft" or "ngram", for receipts and metrics.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual CompanionShape shape() const noexcept = 0;

  [[nodiscard]] virtual Followed follow(SlotId slot, const CompanionPoint& point) noexcept = 0;

  // To be called after each prefill or decode of the slot and before the engine's next batch.
  // `kept` are the batch's tokens from `first_row` on that stay in the slot and that the companion
  // was not told of before.
  virtual void advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept = 0;

  // Several slots at once, each with its own wish.
  virtual void draft(std::span<DraftWish> wishes) noexcept = 0;

  // What it has of the given blocks, and of the position after `length` tokens.
  // REQUIRES: the primary's slot holds `length` tokens, and the blocks lie within them.
  [[nodiscard]] virtual CompanionSaved save(SlotId slot, std::span<const TokenRange> blocks,
                                            TokenPos length) noexcept = 0;
};

}  // namespace holdfast::engine
