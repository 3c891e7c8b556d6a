// CallNotes: the call of the cache that is being recorded, and what the world answered inside it.
//
//   open()  ->  note(), note_time() by the wrappers of recording_world.h  ->  close()
//
// Calls are not nested. Outside of a call nothing is noted.
//
// Invariant, tested by call_notes_test.cc:
//   CALL-1  a closed call has every answer and every reading of the clock that the cache got inside
//           it, in order, and none from outside
#pragma once

#include <optional>

#include "env/clock.h"
#include "record/recording_events.h"

namespace holdfast::record {

class CallNotes {
 public:
  void open(EventKind kind, SlotId slot);
  // The open call. Callers fill in its arguments. What is written to it outside of a call is lost.
  [[nodiscard]] CacheEvent& call() { return call_; }
  // Ends the call. Returns it; null: none was open.
  [[nodiscard]] const CacheEvent* close();
  // Ends the call without a record of it.
  void drop() { in_call_ = false; }

  void note(Answer answer);
  void note_time(env::Clock::TimePoint now);

 private:
  CacheEvent call_;
  bool in_call_ = false;
  std::optional<env::Clock::TimePoint> last_time_;  // read inside any call
};

}  // namespace holdfast::record
