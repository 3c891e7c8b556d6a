// Replays a recording: a real StateCache gets the recorded calls, in a world that gives the
// recorded answers (replay_world.h). What the cache then does is compared with the recording:
//
//   decisions   how each prompt began, which request it waited for
//   questions   what the cache asked of the world, one by one
//   receipts    field by field (receipt_record.h)
//   memory      what the cache held, and what it had dropped, after each request
//
// The file may have any bytes. A recording that is cut off or damaged is replayed up to that place,
// and `trouble` says where and why. Calls that no server makes (a busy slot begins again) end the
// replay the same way: nothing in a file reaches the cache's own CHECKs.
//
// After a difference the replay follows the recording: prompts begin on the recorded slot and are
// read up to the recorded places, so that later receipts can still be compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/receipt_record.h"
#include "record/recording_events.h"

namespace holdfast::record {

// One request that has ended.
struct ReplayedRequest {
  std::uint64_t number = 0;
  cache::RequestEnd end = cache::RequestEnd::kStopToken;
  cache::Receipt receipt;   // as recorded
  cache::Receipt replayed;  // as the replay made it
  std::vector<FieldDifference> differences;
  TokenPos answer_tokens = 0;
  double answer_ms = 0.0;
  std::string known_text;  // beside the receipt's difference; private: empty
  std::string sent_text;
};

struct ReplayOutcome {
  RecordingHeader header;
  std::vector<ReplayedRequest> requests;  // in the order in which they ended
  std::uint64_t dropped = 0;              // never began
  std::uint64_t unfinished = 0;           // on a slot, or waiting, when the recording ends
  std::uint64_t events = 0;
  // The first few differences, for people, and how many there were of each kind.
  std::vector<std::string> notes;
  std::uint64_t decisions_differ = 0;
  std::uint64_t receipts_differ = 0;
  std::uint64_t digests_differ = 0;
  bool whole = false;  // it has its end
  DoneReason done = DoneReason::kServerStopped;
  std::string trouble;  // why it is not whole; empty: it is

  [[nodiscard]] bool identical() const {
    return decisions_differ == 0 && receipts_differ == 0 && digests_differ == 0;
  }
};

// An Error: this is not a recording, or its header cannot be read.
[[nodiscard]] Result<ReplayOutcome> replay_recording(std::string_view file);

}  // namespace holdfast::record
