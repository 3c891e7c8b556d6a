#include "api/key_limiter.h"

#include <algorithm>

namespace holdfast::api {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kMinute{60};

std::string count_of(int limit, const char* what) {
  return "This key may have " + std::to_string(limit) + " " + what + "; ";
}

}  // namespace

std::variant<KeyLimiter::Ticket, KeyLimiter::Refusal> KeyLimiter::admit(const Asker& asker,
                                                                        int at_work,
                                                                        TimePoint now) {
  const KeyLimits& limits = asker.limits;
  if (limits == KeyLimits{}) return Ticket();
  Use& use = uses_[asker.key_name];
  if (limits.requests > 0 && *use.held >= limits.requests) {
    return Refusal{count_of(limits.requests, "requests at a time") + "try again when one is done."};
  }
  if (limits.queue > 0 && *use.held - at_work >= limits.queue) {
    return Refusal{count_of(limits.queue, "waiting requests") + "try again when one has begun."};
  }
  if (limits.rate > 0) {
    const milliseconds each = duration_cast<milliseconds>(kMinute) / limits.rate;
    const TimePoint paid = std::max(use.paid_upto, now) + each;
    if (paid - now > kMinute) {
      const auto wait = std::chrono::ceil<seconds>(paid - now - kMinute);
      return Refusal{count_of(limits.rate, "requests a minute") + "try again in " +
                         std::to_string(wait.count()) + " s.",
                     static_cast<int>(wait.count())};
    }
    use.paid_upto = paid;
  }
  return Ticket(use.held);
}

}  // namespace holdfast::api
