// MtpDrafts: proposes tokens for several slots at once with the MTP block.
//
//   batch 1   slot 0   pending rows, next          -> d1     the output of a slot's `next`
//             slot 1   pending rows, next, filler  -> d1     is its first drafted token
//   batch 2   slot 0   d1                          -> d2
//             slot 1   d1                          -> d2     and so on
//
// A draft of D tokens takes D batches. In the first one every slot has equally many rows
// (MTPCTX-2): those with fewer pending rows are filled up with rows of zeros that nobody reads.
// Before draft() returns, the rows of drafted tokens and filler rows are removed: a slot then has
// rows of tokens that the primary holds, and no others. EveryMtp.DraftsLeaveNoTrace tests that.
#pragma once

#include <span>
#include <vector>

#include "engine/companion.h"
#include "engine/likeliest.h"
#include "engine/llama/mtp_context.h"
#include "engine/llama/mtp_slot.h"

namespace holdfast::llama {

class MtpDrafts {
 public:
  // REQUIRES: all of them outlive it.
  MtpDrafts(const LlamaEngine& primary, MtpContext& context, std::span<MtpSlot> slots);

  // Fills in the drafts of the wishes that can be answered.
  void draft(std::span<engine::DraftWish> wishes) noexcept;

 private:
  // A wish that is being answered.
  struct Drafting {
    engine::DraftWish* wish = nullptr;
    TokenPos most = 0;
    std::size_t row = 0;  // of its latest token, in the batch
    bool filled = false;  // filler rows follow it
  };

  [[nodiscard]] MtpSlot& slot_of(const Drafting& one) const;
  [[nodiscard]] TokenPos room_for(const engine::DraftWish& wish) const;
  void begin(std::span<engine::DraftWish> wishes);
  void compute_all();
  void append_first_batch();
  [[nodiscard]] TokenPos make_room_for_filler();
  void take_tokens();
  [[nodiscard]] bool take_token(Drafting& one);

  const LlamaEngine& primary_;
  MtpContext& context_;
  std::span<MtpSlot> slots_;
  engine::LikeliestFinder likeliest_;
  std::vector<Drafting> drafting_;  // those that want more tokens, ascending by slot
  std::vector<SlotId> drafted_;     // all that took part in this call
};

}  // namespace holdfast::llama
