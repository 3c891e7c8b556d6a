#include "engine/llama/batch_ledger.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::llama {

BatchLedger::BatchLedger(int slots, TokenPos decode_tokens_max, TokenPos rollback_depth)
    : decode_tokens_max_(decode_tokens_max),
      rollback_depth_(rollback_depth),
      slots_(static_cast<std::size_t>(slots)) {}

const BatchLedger::SlotState& BatchLedger::at(SlotId slot) const {
  CHECK(slot.value >= 0 && slot.value < slot_count());
  return slots_[static_cast<std::size_t>(slot.value)];
}

BatchLedger::SlotState& BatchLedger::at(SlotId slot) {
  return const_cast<SlotState&>(std::as_const(*this).at(slot));
}

TokenPos BatchLedger::rollback_after(TokenPos count) const {
  const bool step = count <= std::max(decode_tokens_max_, 1 + rollback_depth_);
  return step ? std::min(count - 1, rollback_depth_) : 0;
}

bool BatchLedger::can_roll_back(SlotId slot, TokenPos position) const {
  const SlotState& now = at(slot);
  return now.length - position <= now.rollback_left;
}

void BatchLedger::forget_batch() {
  for (SlotState& slot : slots_) slot = {.length = slot.length};
}

void BatchLedger::note_batch(SlotId slot, int begin, TokenPos count, TokenPos outputs) {
  SlotState& now = at(slot);
  now.batch_position = now.length;
  now.length += count;
  now.batch_begin = begin;
  now.batch_tokens = count;
  now.outputs = outputs;
  now.rollback_left = rollback_after(count);
}

void BatchLedger::note_truncation(SlotId slot, TokenPos position) {
  SlotState& now = at(slot);
  now.length = position;
  now.outputs = 0;
  now.rollback_left = 0;
}

void BatchLedger::note_cleared(SlotId slot) { at(slot) = SlotState{}; }

void BatchLedger::note_loaded(SlotId slot, TokenPos length) { at(slot).length = length; }

void BatchLedger::forget_logits() {
  for (SlotState& slot : slots_) slot.outputs = 0;
}

int BatchLedger::output_row(SlotId slot, TokenPos row) const {
  const SlotState& now = at(slot);
  CHECK(row >= 0 && row < now.outputs);
  return now.batch_begin + now.batch_tokens - now.outputs + row;
}

int BatchLedger::token_row(SlotId slot, TokenPos row) const {
  const SlotState& now = at(slot);
  return row >= 0 && row < now.batch_tokens ? now.batch_begin + row : -1;
}

std::vector<std::string> BatchLedger::check() const {
  std::vector<std::string> violations;
  for (int i = 0; i < slot_count(); ++i) {
    const SlotState& now = at(SlotId{i});
    const std::string name = "slot " + std::to_string(i);
    const bool whole = now.outputs > 0 || now.rollback_left > 0;  // it was not truncated
    const bool fits = now.batch_position + now.batch_tokens == now.length;
    if ((whole && !fits) || now.outputs > now.batch_tokens) {
      violations.push_back("LEDGER-1: " + name + " has other rows than its batch");
    }
    const TokenPos most = std::max(std::min(now.batch_tokens - 1, rollback_depth_), 0);
    if (now.rollback_left < 0 || now.rollback_left > most) {
      violations.push_back("LEDGER-2: " + name + " would take back more than its batch");
    }
  }
  return violations;
}

}  // namespace holdfast::llama
