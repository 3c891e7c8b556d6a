// KeyLimiter: no key takes more than its share (KeyLimits).
//
//   admit --> Ticket, held while the request is answered
//        `--> Refusal: which limit, and when to try again
//
// Invariants, verified by the tests of the same numbers (key_limiter_test.cc):
//   LIMIT-1  at most `requests` tickets of one key are held at a time
//   LIMIT-2  of these at most `queue` wait for a slot, as far as the scheduler has told
//   LIMIT-3  in any minute at most twice `rate` requests begin, and `rate` in each on average
//
// The I/O thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "api/access.h"

namespace holdfast::api {

class KeyLimiter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Refusal {
    std::string message;
    int retry_after_s = 1;
  };

  // One request under way. May outlive the limiter.
  class Ticket {
   public:
    Ticket() = default;
    explicit Ticket(std::shared_ptr<int> held) : held_(std::move(held)) { ++*held_; }
    Ticket(Ticket&& other) noexcept : held_(std::move(other.held_)) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (held_) --*held_;
    }

   private:
    std::shared_ptr<int> held_;
  };

  // `at_work`: how many slots work for this key.
  [[nodiscard]] std::variant<Ticket, Refusal> admit(const Asker& asker, int at_work, TimePoint now);

 private:
  struct Use {
    std::shared_ptr<int> held = std::make_shared<int>(0);
    TimePoint paid_upto{};  // requests so far are within the rate up to this moment
  };

  std::map<std::string, Use> uses_;  // by Asker::key_name
};

}  // namespace holdfast::api
