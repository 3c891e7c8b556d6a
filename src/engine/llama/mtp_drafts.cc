#include "engine/llama/mtp_drafts.h"

#include <algorithm>
#include <utility>

#include "engine/llama/llama_engine.h"

namespace holdfast::llama {

MtpDrafts::MtpDrafts(const LlamaEngine& primary, MtpContext& context, std::span<MtpSlot> slots)
    : primary_(primary), context_(context), slots_(slots) {
  drafting_.reserve(slots.size());
  drafted_.reserve(slots.size());
}

MtpSlot& MtpDrafts::slot_of(const Drafting& one) const {
  return slots_[static_cast<std::size_t>(one.wish->slot.value)];
}

void MtpDrafts::draft(std::span<engine::DraftWish> wishes) noexcept {
  const auto slot = [&](SlotId id) -> MtpSlot& {
    return slots_[static_cast<std::size_t>(id.value)];
  };
  try {
    begin(wishes);
    if (!drafting_.empty()) compute_all();
    for (const SlotId id : drafted_) slot(id).drop_drafted(slot(id).length());
  } catch (...) {  // no memory
    context_.drop_batch();
    drafting_.clear();
    for (const SlotId id : drafted_) slot(id).start_over();
  }
}

// The most tokens that can be drafted for the wish; 0: it cannot be answered.
TokenPos MtpDrafts::room_for(const engine::DraftWish& wish) const {
  const auto index = static_cast<std::size_t>(wish.slot.value);
  if (wish.slot.value < 0 || index >= slots_.size() || !slots_[index].in_step()) return 0;
  const TokenPos length = slots_[index].length();
  const bool known = wish.next >= 0 && static_cast<std::size_t>(wish.next) < context_.vocabulary();
  const bool again = std::ranges::find(drafted_, wish.slot) != drafted_.end();
  if (!known || again || primary_.length(wish.slot) > length) return 0;
  return std::max(std::min(wish.most, primary_.context_tokens() - length - 1), 0);
}

// Takes the wishes that can be answered, ascending by slot.
void MtpDrafts::begin(std::span<engine::DraftWish> wishes) {
  context_.drop_batch();
  drafting_.clear();
  drafted_.clear();
  for (engine::DraftWish& wish : wishes) {
    wish.draft.clear();
    const TokenPos most = room_for(wish);
    if (most < 1) continue;
    wish.draft.reserve(static_cast<std::size_t>(most));
    drafting_.push_back({.wish = &wish, .most = most});
    drafted_.push_back(wish.slot);
  }
  std::ranges::sort(drafting_, {}, [](const Drafting& one) { return one.wish->slot; });
}

void MtpDrafts::compute_all() {
  append_first_batch();
  bool first = true;
  while (!drafting_.empty()) {
    if (!context_.run(MtpOutputs::kWanted)) {  // nothing is known of the slots that were in it
      for (const Drafting& one : drafting_) slot_of(one).start_over();
      drafting_.clear();
      return;
    }
    if (std::exchange(first, false)) {
      for (const Drafting& one : drafting_) slot_of(one).note_pending_made();
    }
    take_tokens();
  }
}

// Makes pending rows apart from the draft where they are too many, or where a filled-up batch would
// not fit the context. Returns how many rows each slot has in the first batch.
TokenPos MtpDrafts::make_room_for_filler() {
  for (const Drafting& one : drafting_) {
    if (slot_of(one).pending() > primary_.decode_tokens_max()) slot_of(one).make_pending();
  }
  TokenPos rows = 1;
  for (const Drafting& one : drafting_) rows = std::max(rows, slot_of(one).pending() + 1);
  const bool fits = std::ranges::all_of(drafting_, [&](const Drafting& one) {
    return slot_of(one).rows_end() + rows <= primary_.context_tokens();
  });
  if (fits) return rows;
  for (const Drafting& one : drafting_) slot_of(one).make_pending();
  return 1;
}

void MtpDrafts::append_first_batch() {
  const TokenPos rows = make_room_for_filler();
  for (Drafting& one : drafting_) {
    MtpSlot& slot = slot_of(one);
    const TokenPos own_rows = slot.pending() + 1;
    one.row = slot.append_with(one.wish->next);
    one.filled = own_rows < rows;
    TokenPos position = slot.length();
    for (TokenPos i = own_rows; i < rows; ++i) {
      context_.append(one.wish->slot, one.wish->next, ++position, nullptr, false);
    }
  }
}

// Reads what the batch answered and appends the next batch, of the slots that want more.
void MtpDrafts::take_tokens() {
  std::size_t unfinished = 0;
  for (Drafting& one : drafting_) {
    if (take_token(one)) drafting_[unfinished++] = one;
  }
  drafting_.resize(unfinished);
}

// Whether the wish wants one more; it is then in the next batch.
bool MtpDrafts::take_token(Drafting& one) {
  const float* logits = context_.logits(one.row);
  const float* hidden = context_.hidden(one.row);
  if (logits == nullptr || hidden == nullptr) return false;
  engine::DraftWish& wish = *one.wish;
  const engine::Likeliest best =
      likeliest_.find({logits, context_.vocabulary()}, wish.least_probability);
  if (best.probability == 0.0F || best.probability < wish.least_probability) return false;
  wish.draft.push_back(best.token);
  if (length_of(wish.draft) >= one.most) return false;

  MtpSlot& slot = slot_of(one);
  const TokenPos position = slot.length() + length_of(wish.draft);
  if (std::exchange(one.filled, false) && !slot.drop_drafted(position)) return false;
  one.row = context_.append(wish.slot, best.token, position, hidden, true);
  return true;
}

}  // namespace holdfast::llama
