// Engine runs a model over slots. Each slot holds one live sequence.
//
// The interface speaks of tokens, slots, chunks, parts and snapshots. An
// implementation turns every trap of its library into a checked answer; see
// engine/llama/llama_engine.h for the one that runs models and engine/testing/fake.h
// for the one whose state is a hash of the tokens it has seen.
//
// Invariants, verified by check():
//   ENGINE-1  length(slot) is the number of tokens in the slot's live state, and the library
//             agrees with it
//   ENGINE-2  0 <= length(slot) <= context_tokens()
// and by tests, because they compare a before with an after:
//   ENGINE-3  after prefill, decode, load, restore or normalize returned an Error, the slots named
//             in the call are empty; a refused truncation, and every const operation, changes
//             nothing (in llama_engine_test.cc: BadStatesAreRefusedAndLeaveAnEmptySlot,
//             AFailedChunkEmptiesItsSlotOnly, ACutIsExactOrRefusedWithNothingChanged)
//
// One owning thread. TextModel (text.h) is the part that any thread may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/sampling.h"
#include "state/arriving_bytes.h"
#include "state/extent_block.h"
#include "state/parts.h"
#include "state/slot_id.h"
#include "state/state_bytes.h"
#include "state/tokens.h"

namespace holdfast::engine {

// Tokens to append to one slot: one that was sampled, and a draft of what may follow it.
struct DecodeStep {
  SlotId slot;
  TokenSpan tokens;
};

enum class TruncateAnswer { kDone, kRefused };

enum class LogitsOf { kNone, kLastToken };

// How much of a slot's state a SavedState holds.
enum class SaveScope {
  kSnapshot,  // the parts that cannot be truncated: recurrent state, sliding window
  kWhole,     // everything; enough to continue in an empty slot
};

// Bytes that bring a slot back to `length` tokens. Opaque outside the engine
// that made them; load() verifies scope, length, size and checksum.
struct SavedState {
  SaveScope scope = SaveScope::kWhole;
  TokenPos length = 0;
  std::uint64_t checksum = 0;
  StateBytes bytes;
};

// A SavedState whose bytes somebody else keeps.
struct SavedStateView {
  SavedStateView() = default;
  SavedStateView(SaveScope s, TokenPos n, std::uint64_t sum, std::span<const std::byte> data)
      : scope(s), length(n), checksum(sum), bytes(data) {}
  SavedStateView(const SavedState& saved)  // NOLINT(google-explicit-constructor): a view of it
      : SavedStateView(saved.scope, saved.length, saved.checksum, saved.bytes) {}

  SaveScope scope = SaveScope::kWhole;
  TokenPos length = 0;
  std::uint64_t checksum = 0;
  std::span<const std::byte> bytes;
};

// Extent rows of tokens [begin, end): the attention state that those tokens left
// behind, given the tokens before them. Opaque outside the engine.
struct ExtentRows {
  TokenPos begin = 0;
  TokenPos end = 0;
  std::uint64_t checksum = 0;
  StateBytes bytes;
};

// Parts of a slot's state whose bytes may still be on their way.
struct SavedLater {
  std::vector<ArrivingBytesPtr> rows;  // one for each block that was asked for
  ArrivingBytesPtr snapshot;           // as of save(kSnapshot); null: not asked for
};

// Rows [begin, end) out of a block of rows that may hold more on either side.
struct RowsView {
  RowsView() = default;
  RowsView(const ExtentRows& rows)  // NOLINT(google-explicit-constructor): a view of it
      : begin(rows.begin),
        end(rows.end),
        block_begin(rows.begin),
        block_end(rows.end),
        checksum(rows.checksum),
        bytes(rows.bytes) {}

  TokenPos begin = 0;
  TokenPos end = 0;
  TokenPos block_begin = 0;
  TokenPos block_end = 0;
  std::uint64_t checksum = 0;        // of the whole block
  std::span<const std::byte> bytes;  // of the whole block
};

// What restore() needs to bring an empty slot to `tokens.size()` tokens.
struct RestorePoint {
  TokenSpan tokens;  // the tokens that the state was computed from
  // Cover the tokens in order and without gaps; the last view may reach further. Empty for models
  // without extents.
  std::span<const RowsView> rows;
  // Taken after exactly these tokens. None for models whose parts are all extents.
  std::optional<SavedStateView> snapshot;
};

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual const StateShape& shape() const = 0;
  [[nodiscard]] virtual int slot_count() const = 0;
  // Tokens that one slot can hold.
  [[nodiscard]] virtual TokenPos context_tokens() const = 0;
  // The largest chunk that prefill() takes.
  [[nodiscard]] virtual TokenPos chunk_tokens_max() const = 0;
  [[nodiscard]] virtual TokenPos length(SlotId slot) const = 0;

  // Appends one chunk of one sequence. The grid decides where chunks end.
  // REQUIRES: 1 <= chunk.size() <= chunk_tokens_max(), and it fits the context.
  // On an Error the slot is empty.
  [[nodiscard]] virtual Result<void> prefill(SlotId slot, TokenSpan chunk, LogitsOf logits) = 0;

  // The most tokens that decode() takes for one slot.
  [[nodiscard]] virtual TokenPos decode_tokens_max() const = 0;
  // Whether truncate() can remove the last `count` tokens right after a decode of more than `count`
  // tokens. Where it cannot, a caller that may have to go back takes a snapshot first.
  [[nodiscard]] virtual bool can_take_back(TokenPos count) const = 0;

  // Appends equally many tokens to each of several slots in one batch, keeping the
  // logits of every token. On an Error all slots named are empty.
  // REQUIRES: the slots ascend and, for more than one token each, are neighbours;
  // 1 .. decode_tokens_max() tokens, which fit the context.
  [[nodiscard]] virtual Result<void> decode(std::span<const DecodeStep> steps) = 0;

  // Chooses the token that follows one of the slot's latest tokens, from its logits.
  // `row` counts the tokens of the latest decode; after a prefill it is 0.
  // REQUIRES: the slot was part of the latest prefill (with logits) or decode, and
  // has not been truncated since.
  [[nodiscard]] virtual Result<Sampled> sample(SlotId slot, Sampler& sampler, TokenPos row = 0) = 0;
  // The logits themselves; same requirement, valid until the next prefill/decode.
  [[nodiscard]] virtual std::span<const float> logits(SlotId slot, TokenPos row = 0) = 0;

  // Chooses a token from logits that were copied earlier, as if they had just been computed. This
  // needs can_sample_kept(): the library's samplers read from its latest outputs, if it has any.
  // kEngine: !can_sample_kept(), or `logits` does not have logits_count() values.
  [[nodiscard]] virtual bool can_sample_kept() const = 0;
  [[nodiscard]] virtual std::size_t logits_count() const = 0;
  [[nodiscard]] virtual Result<Sampled> sample_kept(std::span<const float> logits,
                                                    Sampler& sampler) = 0;

  // Removes the tokens from `position` on. Refused, with nothing changed, where
  // a part cannot be truncated there. Truncating to length() or to 0 is never refused.
  [[nodiscard]] virtual TruncateAnswer truncate(SlotId slot, TokenPos position) = 0;
  // Whether truncate() would be done. Changes nothing.
  [[nodiscard]] virtual bool can_truncate(SlotId slot, TokenPos position) const = 0;
  virtual void clear(SlotId slot) = 0;

  // Copies state out. kUnsupported when the model has no part of that scope;
  // kInvalidArgument for an empty slot. The slot is unchanged.
  [[nodiscard]] virtual Result<SavedState> save(SlotId slot, SaveScope scope) const = 0;

  // Replaces the slot's state (kWhole), or brings its parts that cannot be truncated to
  // `state.length` while its extents are kept up to there (kSnapshot; REQUIRES
  // extents of at least that length). A state that is empty, short, damaged or
  // foreign is an Error and leaves the slot empty.
  [[nodiscard]] virtual Result<void> load(SlotId slot, const SavedStateView& state) = 0;

  // Copies out the extent rows of tokens [begin, end). kUnsupported when the
  // model has no extents. REQUIRES: 0 <= begin < end <= length(slot).
  [[nodiscard]] virtual Result<ExtentRows> save_rows(SlotId slot, TokenPos begin,
                                                     TokenPos end) const = 0;

  // Copies out the rows of several blocks of tokens, which ascend. Where rows lie in a device's
  // memory, a few large copies are many times faster than one for each block.
  [[nodiscard]] virtual Result<std::vector<ExtentRows>> save_rows(
      SlotId slot, std::span<const TokenRange> blocks) const = 0;

  // save_rows() of the blocks, if there are any, and save(kSnapshot), if it is wanted: the state as
  // it is now, whatever the engine does next. Where saves_later(), the bytes arrive while the
  // engine computes on. A copy that fails after this call is damaged bytes.
  [[nodiscard]] virtual Result<SavedLater> save_later(SlotId slot,
                                                      std::span<const TokenRange> blocks,
                                                      bool snapshot) const;
  // Whether save_later() returns before the bytes are there, and holds up nobody.
  [[nodiscard]] virtual bool saves_later() const { return false; }

  // Replaces the slot's state. Rows that leave a gap, a snapshot of another
  // length, and damaged or foreign bytes are Errors that leave the slot empty.
  [[nodiscard]] virtual Result<void> restore(SlotId slot, const RestorePoint& point) = 0;

  // Gives the slot the memory layout that restoring its state would give it. The order in which
  // the rows of a sliding window lie in their ring changes the last bits of results, so an
  // uninterrupted run agrees with a restored one only if both call this at the same positions. On
  // an Error the slot is empty.
  [[nodiscard]] virtual Result<void> normalize(SlotId slot) = 0;

  // Returns when everything that was asked for has been computed. prefill() without logits may
  // return earlier; callers that measure time call this.
  virtual void wait() const = 0;

  // Violations of ENGINE-1 and ENGINE-2; empty when they hold.
  [[nodiscard]] virtual std::vector<std::string> check() const = 0;
};

}  // namespace holdfast::engine
