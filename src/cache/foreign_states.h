// ForeignStates: how much of a prompt lies in the folder below under facts that are not this
// server's, where none of it can be used.
//
//   facts of another server --+
//                             +--> the tenant's space there --> names of the prompt -->
//                             StoredDepths
//   who asks -----------------+
//
// A space follows from facts and tenant alone, so the question is asked about the very prompt and
// the very tenant, without I/O.
//
// Invariants, verified by the tests:
//   FOREIGN-1  only spaces of the tenant who asks are looked at
//   FOREIGN-2  what is said to agree does: something stands at that place on the prompt's way. It
//              may be less than there is, by as much as a blob holds
//
// Immutable, so any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/fingerprint.h"
#include "state/tokens.h"
#include "tier/stored_depths.h"

namespace holdfast::cache {

// Whose states lie in a folder beside this server's.
struct ForeignMaker {
  Fingerprint facts;
  std::string made_by;      // what it was, as a receipt says it (cache/space_facts.h)
  std::string flags;        // with these a server could use its states; empty: not known
  bool chunk_keys = false;  // its prompts were exact, on this server's grid (state/chunk_keys.h)
};

struct ForeignQuestion {
  std::string_view tenant;
  TokenSpan tokens;
  std::span<const TokenPos> cuts;  // the prompt's grid
};

struct ForeignMatch {
  TokenPos agreed = 0;  // this many tokens at least; 0: none are known of
  std::string made_by;
  std::string flags;
};

class ForeignStates {
 public:
  ForeignStates() = default;
  explicit ForeignStates(std::vector<ForeignMaker> makers) : makers_(std::move(makers)) {}

  [[nodiscard]] bool empty() const { return makers_.empty(); }
  // The maker of most of the prompt; the first of equals.
  [[nodiscard]] ForeignMatch find(const tier::StoredDepths& known,
                                  const ForeignQuestion& question) const;

 private:
  std::vector<ForeignMaker> makers_;
};

}  // namespace holdfast::cache
