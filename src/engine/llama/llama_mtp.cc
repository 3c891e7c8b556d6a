#include "engine/llama/llama_mtp.h"

#include <exception>
#include <utility>

#include "engine/llama/llama_engine.h"

namespace holdfast::llama {

Result<std::unique_ptr<LlamaMtp>> LlamaMtp::create(std::shared_ptr<llama_model> model,
                                                   LlamaEngine& primary,
                                                   const LlamaConfig& config) {
  try {
    auto context = MtpContext::create(std::move(model), primary, config);
    if (!context) return context.error();
    std::unique_ptr<LlamaMtp> made(new LlamaMtp(std::move(*context)));
    if (auto added = made->add_slots(primary); !added) return added.error();
    return made;
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kEngine, std::string("The MTP block cannot be used: ") + failure.what(),
                 ""};
  }
}

Result<void> LlamaMtp::add_slots(const LlamaEngine& primary) {
  for (int i = 0; i < primary.slot_count(); ++i) {
    const SlotId slot{i};
    auto rows = MtpRows::record(slot, *context_, copies_);
    if (!rows) return rows.error();
    shape_ = {.bytes_per_token = rows->row_bytes(),
              .bytes_per_place = context_->hidden_width() * sizeof(float)};
    slots_.emplace_back(slot, primary, *context_, std::move(*rows));
  }
  drafts_ = std::make_unique<MtpDrafts>(primary, *context_, slots_);
  return {};
}

MtpSlot* LlamaMtp::find(SlotId slot) noexcept {
  const bool valid = slot.value >= 0 && slot.value < static_cast<int>(slots_.size());
  return valid ? &slots_[static_cast<std::size_t>(slot.value)] : nullptr;
}

engine::Followed LlamaMtp::follow(SlotId slot, const engine::CompanionPoint& point) noexcept {
  MtpSlot* found = find(slot);
  if (found == nullptr) return {};
  try {
    return found->follow(point);
  } catch (...) {  // no memory
    found->lose();
    return {.held = 0, .from_memory = 0, .missing = "there was no memory left"};
  }
}

void LlamaMtp::advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept {
  MtpSlot* found = find(slot);
  if (found == nullptr || kept.empty() || !found->in_step()) return;
  try {
    found->advance(kept, first_row);
  } catch (...) {  // no memory
    context_->drop_batch();
    found->lose();
  }
}

engine::CompanionSaved LlamaMtp::save(SlotId slot, std::span<const TokenRange> blocks,
                                      TokenPos length) noexcept {
  engine::CompanionSaved saved;
  try {
    saved.rows.resize(blocks.size());
    MtpSlot* found = find(slot);
    if (found == nullptr || context_->fails(MtpOperation::kSave)) return saved;
    found->save(blocks, length, saved);
  } catch (...) {  // no memory: what was copied is whole
  }
  return saved;
}

std::vector<std::string> LlamaMtp::check() const {
  std::vector<std::string> violations;
  for (const MtpSlot& slot : slots_) slot.check(violations);
  return violations;
}

}  // namespace holdfast::llama
