#include "cache/slot_ledger.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::cache {

SlotLedger::SlotLedger(const engine::Engine& engine, bool exact_prompts)
    : engine_(engine),
      exact_prompts_(exact_prompts),
      slots_(static_cast<std::size_t>(engine.slot_count())) {}

const LiveSlot& SlotLedger::operator[](SlotId slot) const {
  CHECK(slot.value >= 0 && static_cast<std::size_t>(slot.value) < slots_.size());
  return slots_[static_cast<std::size_t>(slot.value)];
}

LiveSlot& SlotLedger::operator[](SlotId slot) {
  return const_cast<LiveSlot&>(std::as_const(*this)[slot]);
}

std::vector<SlotId> SlotLedger::all() const {
  std::vector<SlotId> all;
  for (int i = 0; i < static_cast<int>(slots_.size()); ++i) all.push_back(SlotId{i});
  return all;
}

std::optional<int> SlotLedger::holding(SpaceKey space, TokenSpan keys) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const TokenSpan held = this->keys(slots_[i]);
    if (slots_[i].space != space || held.size() < keys.size()) continue;
    if (std::ranges::equal(held.first(keys.size()), keys)) return static_cast<int>(i);
  }
  return std::nullopt;
}

void SlotLedger::append(SlotId slot, TokenSpan tokens, TokenSpan keys) {
  LiveSlot& held = (*this)[slot];
  held.tokens.insert(held.tokens.end(), tokens.begin(), tokens.end());
  if (exact_prompts_) held.keys.insert(held.keys.end(), keys.begin(), keys.end());
}

void SlotLedger::shorten(SlotId slot, TokenPos length) {
  LiveSlot& held = (*this)[slot];
  held.tokens.resize(std::min(held.tokens.size(), static_cast<std::size_t>(length)));
  held.keys.resize(std::min(held.keys.size(), held.tokens.size()));
  held.exact = std::min(held.exact, length);
  held.stored_upto = std::min(held.stored_upto, length);
  held.offered = std::min(held.offered, length);
  held.filed.length = std::min(held.filed.length, length);
  if (held.postponed && held.postponed->checkpoint.position > length) held.postponed.reset();
}

void SlotLedger::end_request(SlotId slot) {
  LiveSlot& held = (*this)[slot];
  held.prompt = {};
  held.prompt_keys = {};
  held.grid = {};
  held.cuts.clear();
  held.due.clear();
  held.due_in_slot.clear();
  held.postponed.reset();
}

std::vector<std::string> SlotLedger::check() const {
  std::vector<std::string> violations;
  for (const SlotId slot : all()) {
    const LiveSlot& held = (*this)[slot];
    const std::string name = "slot " + std::to_string(slot.value);
    const TokenPos length = held.length();
    if (length != engine_.length(slot)) {
      violations.push_back("SLOT-1: " + name + " lists " + std::to_string(length) +
                           " tokens, the engine holds " + std::to_string(engine_.length(slot)));
    }
    if (keys(held).size() != held.tokens.size()) violations.push_back("SLOT-1: keys of " + name);
    const bool within = 0 <= held.exact && held.exact <= length && 0 <= held.stored_upto &&
                        held.stored_upto <= length;
    if (!within) violations.push_back("SLOT-2: " + name);
    if (held.postponed && held.postponed->checkpoint.position != length) {
      violations.push_back("SLOT-3: postponed in " + name);
    }
    TokenPos last = length;
    for (const plan::Checkpoint& checkpoint : held.due) {
      if (checkpoint.position <= last) violations.push_back("SLOT-3: " + name);
      last = checkpoint.position;
    }
  }
  return violations;
}

}  // namespace holdfast::cache
