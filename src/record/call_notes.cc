#include "record/call_notes.h"

#include <chrono>
#include <utility>

namespace holdfast::record {

void CallNotes::open(EventKind kind, SlotId slot) {
  call_ = CacheEvent{};
  call_.kind = kind;
  call_.slot = slot.value;
  in_call_ = true;
}

const CacheEvent* CallNotes::close() { return std::exchange(in_call_, false) ? &call_ : nullptr; }

void CallNotes::note(Answer answer) {
  if (in_call_) call_.answers.push_back(std::move(answer));
}

void CallNotes::note_time(env::Clock::TimePoint now) {
  if (!in_call_) return;
  const auto since = now - last_time_.value_or(now);
  last_time_ = now;
  call_.clock_ns.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace holdfast::record
