#include "record/replay_differences.h"

namespace holdfast::record {

namespace {

constexpr std::size_t kNotesMax = 20;

}  // namespace

void ReplayDifferences::set_event(EventKind kind, std::uint64_t request) {
  kind_ = kind;
  request_ = request;
}

void ReplayDifferences::decision(const std::string& how) {
  ++outcome_.decisions_differ;
  note(how);
}

void ReplayDifferences::receipt(const FieldDifference& first) {
  ++outcome_.receipts_differ;
  note("its receipt says " + first.field + " " + first.recorded + ", the replay " + first.replayed);
}

void ReplayDifferences::memory() {
  ++outcome_.digests_differ;
  note("memory holds something else after it");
}

void ReplayDifferences::note(const std::string& how) {
  if (outcome_.notes.size() == kNotesMax) return;
  std::string who = "event " + std::to_string(outcome_.events);
  who += std::string(" (") + event_kind_name(kind_);
  if (request_ > 0) who += ", request " + std::to_string(request_);
  outcome_.notes.push_back(who + "): " + how);
}

}  // namespace holdfast::record
