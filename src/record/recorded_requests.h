// A recording as a list of requests, for whoever wants to try another cache on the same traffic.
//
// Tokens are the recorded ids; of a private recording invented ones, equal where the recorded ones
// were: prompts, and what answers became when they were sent back, agree as they did.
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
  std::vector<TokenPos> cuts;  // its grid
  std::vector<MessageSpan> spans;
  bool reuse = true;
  Tokens answer;                // computed tokens; the last one sampled is never computed
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
  // Those of clients that ended, in the order in which they began.
  std::vector<RecordedRequest> requests;
  bool whole = false;  // the recording has its end
};

// An Error: this is no recording. One that is cut off gives the requests before that.
[[nodiscard]] Result<RecordedRequests> recorded_requests(std::string_view file);

}  // namespace holdfast::record
