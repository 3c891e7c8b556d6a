// What one request's grammar may cost. A grammar comes from a client, so everything that is done
// with it is counted, and refused beyond these limits.
//
// The defaults leave room for schemas with hundreds of properties, and keep one token's work below
// some 50 ms on a slow core. `--grammar-limit N` multiplies all of them.
#pragma once

#include <cstddef>

namespace holdfast::engine {

struct GrammarLimits {
  int factor = 1;

  // Elements of a compiled grammar, repetitions written out. One takes about 30 bytes at most.
  [[nodiscard]] std::size_t elements() const { return std::size_t{1'000'000} * scale(); }
  // Moves of stacks for one token: what each of them costs is bounded.
  [[nodiscard]] std::size_t moves() const { return std::size_t{300'000} * scale(); }
  // Bytes of the stacks that a grammar is followed with.
  [[nodiscard]] std::size_t stack_bytes() const { return std::size_t{64} << 20U << shift(); }
  // Steps that the conversion of one request's schemas takes (llama/schema_meter.h): 0.1 s, or 280
  // optional properties in one object.
  [[nodiscard]] std::size_t schema_steps() const { return std::size_t{5'000'000} * scale(); }

 private:
  [[nodiscard]] std::size_t scale() const { return static_cast<std::size_t>(factor); }
  // Memory grows by at most 4.
  [[nodiscard]] std::size_t shift() const { return factor >= 4 ? 2 : factor >= 2 ? 1 : 0; }
};

}  // namespace holdfast::engine
