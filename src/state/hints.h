// Hints: what kind of place a state stands at, as whoever keeps it knows.
#pragma once

#include <cstdint>

namespace holdfast {

// What kind of place a state stands at. The first two follow from the tree that holds it; a
// junction is either seen (two children) or marked; the rest are marked by the owner.
enum class Hint : std::uint16_t {
  kTip = 1 << 0,       // nothing restorable lies deeper
  kInterior = 1 << 1,  // superseded: something deeper is restorable, no fork here
  kJunction = 1 << 2,  // known paths part here, or the owner says so
  kSystemEnd = 1 << 3,
  kPromptEnd = 1 << 4,  // before the generation header
  kMessageEnd = 1 << 5,
  kGridStep = 1 << 6,     // inside a long stretch
  kOffGrid = 1 << 7,      // a state ends here that no cold run would have, such as a decoded one
  kToolCall = 1 << 8,     // the answer that ended here called a tool: its client is soon back
  kAnswerStart = 1 << 9,  // a whole prompt ended here; its logits may be kept
  kOneOff = 1 << 10,      // of a prompt that nobody is likely to come back to (plan/one_offs.h)
};

class Hints {
 public:
  constexpr Hints() = default;
  constexpr Hints(Hint hint)
      : bits_(static_cast<std::uint16_t>(hint)) {}  // NOLINT: a hint is a set

  [[nodiscard]] constexpr bool has(Hint hint) const { return (*this & hint) == Hints(hint); }
  [[nodiscard]] constexpr bool none() const { return bits_ == 0; }
  friend constexpr Hints operator|(Hints a, Hints b) { return Hints(a.bits_ | b.bits_); }
  friend constexpr Hints operator&(Hints a, Hints b) { return Hints(a.bits_ & b.bits_); }
  [[nodiscard]] constexpr Hints without(Hints other) const { return Hints(bits_ & ~other.bits_); }
  constexpr bool operator==(const Hints&) const = default;

 private:
  constexpr explicit Hints(int bits) : bits_(static_cast<std::uint16_t>(bits)) {}
  std::uint16_t bits_ = 0;
};

// Hints that follow from the tree and cannot be marked.
inline constexpr Hints kDerivedHints = Hints(Hint::kTip) | Hint::kInterior;

}  // namespace holdfast
