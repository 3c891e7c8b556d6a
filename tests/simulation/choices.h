// Choices: every decision of a simulated run, from its seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace holdfast::simulation {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15ULL + 1) {}

  [[nodiscard]] std::uint64_t any() { return random_(); }
  // In [0, end).
  [[nodiscard]] std::size_t below(std::size_t end) { return random_() % end; }
  // True once in `times`, on average; 0: never.
  [[nodiscard]] bool once_in(std::size_t times) { return times != 0 && below(times) == 0; }
  template <typename T, std::size_t N>
  [[nodiscard]] T one_of(const T (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace holdfast::simulation
