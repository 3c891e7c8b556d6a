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

#include "base/result.h"
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

// Digest of a model's file, 32 hexadecimal digits: of its bytes, not of its name
// or age. Of a split model (NAME-00001-of-00003.gguf) every part is read,
// whichever of them is named. The Error names the file.
//
// A file of up to 64 MiB is read whole. Of a larger one the digest takes in its
// size, its first 16 MiB, its last MiB and 4096 pages of 4 KiB, evenly spread: at
// most 33 MiB, so that a model of 100 GiB costs a fraction of a second where the
// disk is warm. That tells models apart: the head holds the settings, the
// vocabulary, the template and the list of tensors, and training or quantising
// changes nearly every page of what follows. Changed bytes in a row, more than
// 1/4096 of the file, are always noticed; fewer may be missed, so this is no
// protection against one who edits a file to be taken for another.
[[nodiscard]] Result<std::string> model_digest(const std::string& path);

}  // namespace holdfast::cache
