// MachineSlowness: how much longer everything takes now than usual.
//
// A machine is slower at times, for everything alike. Work of the size that has lately run for
// long tells how slow it is now (the reference), and its usual time is not learned again meanwhile,
// or the two would drift apart.
//
// Invariants, verified by check():
//   SLOW-1  the slowness is finite and more than nothing
//
// Pure: no I/O, no clock.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "plan/steady_time.h"
#include "state/tokens.h"

namespace holdfast::plan {

class MachineSlowness {
 public:
  [[nodiscard]] double now() const { return ratio_.known() ? ratio_.ms() : 1.0; }
  [[nodiscard]] bool is_reference(TokenPos size) const { return size == reference_; }
  void set_reference(TokenPos size) { reference_ = size; }
  // Work of the reference's size took this much of its usual time.
  void note(double ratio) { ratio_.note(ratio); }

  [[nodiscard]] std::vector<std::string> check() const {
    if (std::isfinite(now()) && now() > 0.0) return {};
    return {"SLOW-1: the slowness is none"};
  }

 private:
  TokenPos reference_ = 0;  // 0: none yet
  SteadyTime ratio_;
};

}  // namespace holdfast::plan
