// A summary of a recording's traffic: what was reused, where known tokens were computed again, what
// that cost, and what would help.
//
//   prompt   [ restored | missed | new )
//              ^ from a slot, memory or below
//                         ^ known, if only to another server, and yet computed again: the receipt
//                           says why
//                                  ^ nobody had sent this before
//
// Times follow from the measured prompt time of a request, divided among its tokens. Pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/replayer.h"

namespace holdfast::record {

// One request's prompt, in parts.
struct PromptParts {
  TokenPos restored = 0;
  TokenPos missed = 0;
  TokenPos fresh = 0;
  double missed_ms = 0.0;
  double ms_per_token = 0.0;  // as measured for this request; 0: nothing was read
};
[[nodiscard]] PromptParts parts_of(const cache::Receipt& receipt);

// Requests that have something in common.
struct SummaryGroup {
  std::string what;  // for people
  std::uint64_t requests = 0;
  std::uint64_t tokens = 0;
  double ms = 0.0;
  std::uint64_t example = 0;  // number of the request that lost the most time
  double example_ms = -1.0;
};

struct RecordingSummary {
  std::uint64_t requests = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t restored_tokens = 0;
  std::uint64_t read_tokens = 0;
  std::uint64_t missed_tokens = 0;
  std::uint64_t answer_tokens = 0;
  double reading_ms = 0.0;
  double missed_ms = 0.0;
  double saved_ms = 0.0;
  std::vector<SummaryGroup> misses;  // by reason, the most expensive first
  std::vector<SummaryGroup> advice;  // requests with the same advice are one group; likewise
};
[[nodiscard]] RecordingSummary summary_of(const ReplayOutcome& outcome);

// What would have helped one request; empty: nothing.
[[nodiscard]] std::string advice_of(const ReplayedRequest& request, const RecordingHeader& header);
// How many tokens were computed because something before them has changed, if that is worth advice.
// They are part of PromptParts::fresh.
[[nodiscard]] TokenPos behind_change(const ReplayedRequest& request, const RecordingHeader& header);
// Why known tokens were computed again, in a few words.
[[nodiscard]] std::string reason_text(cache::MissReason reason);

}  // namespace holdfast::record
