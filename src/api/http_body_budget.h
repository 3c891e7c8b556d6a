// BodyBudget: how many bytes the bodies of all requests may take together, from their first byte
// to the end of their answers.
//
//   [ held by bodies of any size ......... | small ones alone ]
//   0                                   3/4 max             max
//
// Large bodies that arrive slowly could otherwise keep everybody out: the last quarter is for
// bodies up to kSmallBody, which nearly all are. Bytes count when they have arrived, so announcing
// them takes nothing from others.
//
// Invariants, verified by the tests of the same numbers (http_body_budget_test.cc):
//   BODIES-1  what is held is the sum over all holds, and never more than the maximum
//   BODIES-2  bodies larger than kSmallBody never take the last quarter
//
// The I/O thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace holdfast::api {

inline constexpr std::uint64_t kSmallBody = 1024 * 1024;

class BodyBudget {
 public:
  explicit BodyBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  [[nodiscard]] std::uint64_t held() const { return held_; }
  // Whether a body that has `had` bytes may have `bytes`.
  [[nodiscard]] bool has_room(std::uint64_t had, std::uint64_t bytes) const {
    const std::uint64_t open = bytes > kSmallBody ? bytes_max_ / 4 * 3 : bytes_max_;
    return bytes <= had || held_ - had + bytes <= open;
  }

 private:
  friend class BodyHold;

  const std::uint64_t bytes_max_;
  std::uint64_t held_ = 0;
};

// What one body takes, while this lives.
class BodyHold {
 public:
  BodyHold() = default;
  explicit BodyHold(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
  BodyHold(BodyHold&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  BodyHold& operator=(BodyHold&&) = delete;
  ~BodyHold() {
    if (budget_) budget_->held_ -= bytes_;
  }

  // The body has this many bytes now. False: there is no room for them.
  [[nodiscard]] bool grow_to(std::uint64_t bytes) {
    if (!could_grow_to(bytes)) return false;
    budget_->held_ += bytes - bytes_;
    bytes_ = bytes;
    return true;
  }
  [[nodiscard]] bool could_grow_to(std::uint64_t bytes) const {
    return budget_->has_room(bytes_, bytes);
  }

 private:
  std::shared_ptr<BodyBudget> budget_;
  std::uint64_t bytes_ = 0;
};

}  // namespace holdfast::api
