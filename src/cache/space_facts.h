// Facts of a space, read back from the note that a server left of it (tier/space_note.h), and how
// two lists of them differ, in words.
//
//   settings  "model=3f2a engine=llama.cpp 0.5.0 (CPU : SSE3 = 1 | ) kv=f16/f16 grid=512"
//   facts      model   3f2a
//              engine  llama.cpp 0.5.0 (CPU : SSE3 = 1 | )
//              kv      f16/f16
//              grid    512
//
// A name is [a-z][a-z-]* directly before a '=', at the start of the text or after a blank. Its
// value goes on to the next name, blanks and " = " included.
//
// Nothing is decided by words: two spaces share states only where their fingerprints are equal
// (cache/fingerprint.h).
//
// Invariants, verified by the tests:
//   SPACE-FACTS-1  parse_facts(fingerprint.describe()) are the fingerprint's facts, unless a value
//                  looks like a fact itself or holds control characters
//   SPACE-FACTS-2  any text may be given; one that does not begin with a name has no facts
//   SPACE-FACTS-3  equal lists have no differences, and words are printable and short
//
// Pure functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/fingerprint.h"

namespace holdfast::cache {

struct Fact {
  std::string name;
  std::string value;
  bool operator==(const Fact&) const = default;
};
using Facts = std::vector<Fact>;

[[nodiscard]] Facts parse_facts(std::string_view settings);
// The value of the first fact of that name; empty: there is none.
[[nodiscard]] std::string_view value_of(const Facts& facts, std::string_view name);
[[nodiscard]] Fingerprint as_fingerprint(const Facts& facts);

enum class FactKind { kModel, kEngine, kSetting };

struct FactDifference {
  FactKind kind = FactKind::kSetting;
  std::string words;  // "--grid-step 512, here 256"
  std::string flag;   // with it a server would be like theirs; empty: not known
};
// What `theirs` has that is not as in `ours`. What follows from another difference is left out.
[[nodiscard]] std::vector<FactDifference> differences(const Facts& theirs, const Facts& ours);

// What made states of `theirs`: "another engine (CPU variant haswell, here zen4) with other
// settings (--grid-step 512, here 256)". Empty for equal lists.
[[nodiscard]] std::string made_by(const Facts& theirs, const Facts& ours);
// "--ubatch-size 256 --grid-step 128": what a server has to be started with to use states of
// `theirs`; empty where that is not known to be enough, as with another engine.
[[nodiscard]] std::string flags_for(const Facts& theirs, const Facts& ours);

// For lists that look alike: of each, the facts in which not all of them agree. Of an engine's
// value only what differs is left, nothing where the variant says it already.
[[nodiscard]] std::vector<Facts> telling_apart(std::span<const Facts> lists);

}  // namespace holdfast::cache
