// A recording as a list of requests, to try another cache on the same traffic.
//
// Tokens are the recorded ids. In a private recording they are invented ids that are equal where
// the recorded ones were: prompts, and answers that were sent back in later prompts, agree as they
// did.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/recording_events.h"

namespace holdfast::record {

struct RecordedRequest {
  std::uint64_t number = 0;
  SpaceKey space;  // requests of different ones share nothing
  Tokens prompt;
  std::vector<TokenPos> cuts;  // of the grid
  std::vector<MessageSpan> spans;
  bool reuse = true;
  Tokens answer;                // the tokens that were computed; the last sampled one never is
  TokenPos answer_tokens = 0;   // sampled
  std::int64_t arrived_ms = 0;  // Unix
  std::int64_t began_ms = 0;    // Unix; it left the queue
  double prompt_ms = 0.0;       // from then to its first token
  double answer_ms = 0.0;
  cache::RequestEnd end = cache::RequestEnd::kStopToken;
  bool called_tool = false;
};

struct RecordedRequests {
  RecordingHeader header;
  // Requests of clients that have ended, in the order in which they began.
  std::vector<RecordedRequest> requests;
  bool whole = false;  // the recording has its end
};

// An Error: this is not a recording. If it is cut off, these are the requests before that place.
[[nodiscard]] Result<RecordedRequests> recorded_requests(std::string_view file);

}  // namespace holdfast::record
