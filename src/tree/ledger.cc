#include "tree/ledger.h"

#include "base/check.h"

namespace holdfast::tree {

Charge* ByteLedger::add_user(const void* object, ByteCount bytes, ByteKind kind, Hold hold) {
  const auto [it, is_new] = charges_.try_emplace(object, Charge{object, bytes, kind});
  Charge& charge = it->second;
  if (is_new) of(charge).resident += bytes;
  CHECK(charge.bytes == bytes && charge.kind == kind);
  add_user(charge, hold);
  return &charge;
}

void ByteLedger::add_user(Charge& charge, Hold hold) {
  ++charge.users;
  if (hold == Hold::kPinned) pin_user(charge);
}

void ByteLedger::remove_user(Charge& charge, Hold hold) {
  CHECK(charge.users > 0);
  if (hold == Hold::kPinned) unpin_user(charge);
  if (--charge.users > 0) return;
  CHECK(charge.pinned_users == 0);
  of(charge).resident -= charge.bytes;
  charges_.erase(charge.object);
}

void ByteLedger::pin_user(Charge& charge) {
  if (charge.pinned_users++ == 0) of(charge).pinned += charge.bytes;
  CHECK(charge.pinned_users <= charge.users);
}

void ByteLedger::unpin_user(Charge& charge) {
  CHECK(charge.pinned_users > 0);
  if (--charge.pinned_users == 0) of(charge).pinned -= charge.bytes;
}

ByteTotals ByteLedger::totals() const {
  ByteTotals sum;
  for (const ByteTotals& kind : totals_) {
    sum.resident += kind.resident;
    sum.pinned += kind.pinned;
  }
  return sum;
}

const Charge* ByteLedger::find(const void* object) const {
  const auto it = charges_.find(object);
  return it == charges_.end() ? nullptr : &it->second;
}

}  // namespace holdfast::tree
