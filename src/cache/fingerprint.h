// Fingerprint: everything but the tokens that shapes a state, in 128 bits.
//
// A state computed under one set of facts is wrong under another: other weights,
// another rope scale, another type of the KV cache, another build of the engine.
// The server names each such fact once, in a fixed order, and states are shared
// only between equal lists.
//
//   Fingerprint facts;
//   facts.add("model", digest).add("kv", "f16/f16").add("grid", "512");
//   const SpaceKey space = facts.space(tenant_salt);
//
// Invariants, verified by the tests:
//   SPACE-1  equal lists of facts and equal salts give equal spaces, on any machine
//   SPACE-2  lists that differ in a name, a value, their order or their number give
//            different spaces, and so do different salts
//   SPACE-3  no salt makes a space equal to another list's: facts and salt are framed
//
// SPACE-2 holds but for accidents of a 128-bit hash. The hash (XXH3) resists accidents
// and not attackers: a salt is chosen by the server, not by the tenant.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree/types.h"

namespace holdfast::cache {

class Fingerprint {
 public:
  Fingerprint& add(std::string_view name, std::string_view value);

  // The space of one tenant. An empty salt is a tenant like any other.
  [[nodiscard]] SpaceKey space(std::string_view tenant_salt) const;
  // 32 digits that stand for the facts, tenants aside.
  [[nodiscard]] std::string hex() const;
  // "model=3f2a kv=f16/f16", one line for people.
  [[nodiscard]] std::string describe() const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace holdfast::cache
