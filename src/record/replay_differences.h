// ReplayDifferences: counts how a replay differs from its recording, and notes the first few
// differences for people.
#pragma once

#include <string>

#include "record/replayer.h"

namespace holdfast::record {

class ReplayDifferences {
 public:
  // REQUIRES: the outcome outlives it.
  explicit ReplayDifferences(ReplayOutcome& outcome) : outcome_(outcome) {}

  // What is noted from now on is about this event.
  void set_event(EventKind kind, std::uint64_t request);

  void decision(const std::string& how);
  void receipt(const FieldDifference& first);
  void memory();

 private:
  void note(const std::string& how);

  ReplayOutcome& outcome_;
  EventKind kind_ = EventKind::kOpened;
  std::uint64_t request_ = 0;
};

}  // namespace holdfast::record
