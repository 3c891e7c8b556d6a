// ReturnAges: after how many requests conversations come back, and what follows for memory.
//
// Whatever drops the least recently used keeps nothing of a loop that is larger than memory: what
// is dropped is what is wanted next.
//
//   a b c d e f a b c ...   room for three: a drops d, b drops e, ...; every turn is read again
//
// Then the youngest is wanted last, and a newcomer has to wait longer than anything that is held.
// It is seen by counting, over the latest requests, the tokens of conversations that came back
// after this many other requests, whether or not their states were still here (the tree remembers
// their tokens). Of something that was last used `age` requests ago,
//
//   density(age) = max over T:  P(it returns until T) / E[requests that it is held until then or T]
//
// is what a byte of it yields for each request that it stays (Beckmann's hit density). Where it
// falls with age, as it does for people and tools who come back soon or never, the oldest goes
// first. Where it rises up to the age at which things have to go, `loops()`: those are kept that
// are here.
//
// Counts requests and never time, so that the same requests give the same answer on any machine.
// Pure: no I/O, no clock.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "state/tokens.h"
#include "tree/types.h"

namespace holdfast::plan {

class ReturnAges {
 public:
  // The next request begins. Returns its tick: `now`, or later if another one began then.
  tree::Tick begin(tree::Tick now);
  // Requests that began after this one did.
  [[nodiscard]] std::uint64_t age(tree::Tick tick) const;

  // The request at hand has this many tokens of its own, of which it found `known` that were last
  // used at `last_use`.
  void note(TokenPos tokens, TokenPos known, tree::Tick last_use);

  // What is held until it has to go, where memory holds `capacity` tokens, would rather be kept
  // than what comes.
  [[nodiscard]] bool loops(double capacity) const;
  [[nodiscard]] double density(std::uint64_t age) const;

 private:
  // Ages up to 16 one by one, then four for each doubling.
  static constexpr std::size_t kBins = 16 + 4 * 10;
  [[nodiscard]] static std::size_t bin_of(std::uint64_t age);  // REQUIRES: age > 0
  [[nodiscard]] static double end_of(std::size_t bin);
  void work_out() const;

  std::deque<tree::Tick> begun_;          // of the latest requests, ascending
  std::array<double, kBins> returned_{};  // tokens that came back, by age
  double touched_ = 0;                    // all tokens of requests
  double requests_ = 0;
  double size_ = 0;  // tokens of a request, of late
  mutable bool worked_out_ = false;
  mutable std::array<double, kBins + 1> density_{};  // [0]: of a newcomer; else at the end of a bin
};

}  // namespace holdfast::plan
