// Means of measured times that a few odd ones do not move.
#pragma once

#include <array>
#include <cstdint>

namespace holdfast::plan {

// A mean of the latest times. Two times alone are not believed, and later ones enter as the second
// shortest of five: work that waited for something moves nothing, and all means err to the same
// side.
class SteadyTime {
 public:
  void note(double ms);
  [[nodiscard]] bool known() const { return count_ >= 3; }
  [[nodiscard]] double ms() const { return known() ? mean_ : 0.0; }

 private:
  std::array<double, 5> latest_{};
  std::uint64_t count_ = 0;
  double mean_ = 0.0;
};

// The middle of the latest few, the shorter one of two.
class MiddleTime {
 public:
  void note(double ms);
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] bool known() const { return count_ >= 3; }
  [[nodiscard]] double ms() const;  // of however few; 0 of none

 private:
  std::array<double, 5> latest_{};
  std::uint64_t count_ = 0;
};

}  // namespace holdfast::plan
