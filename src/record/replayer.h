// Replays a recording: a real StateCache, asked and told what the recorded one was, in a world
// that answers as it did (replay_world.h). What it then says is compared with what was recorded:
//
//   decisions   how each prompt began, whom it waited for
//   questions   what the cache asked of the world, one by one
//   receipts    field by field (receipt_record.h)
//   memory      what it held, and what it had dropped, after each request
//
// Any bytes may be given to it. What is cut off or damaged is replayed up to there, and `trouble`
// says where and why. Calls that no server makes (a slot that is busy begins again) end it the
// same way: nothing in a file reaches the cache's own CHECKs.
//
// When a difference shows, the replay stays with the recording: prompts begin on the recorded
// slot and are read up to the recorded places, so that later receipts still can be compared.
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
  std::uint64_t unfinished = 0;           // at work, or waiting, where the recording ends
  std::uint64_t events = 0;
  // The first few of each that differed, and how many there were.
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

// An Error: this is no recording, or none that can be read at all.
[[nodiscard]] Result<ReplayOutcome> replay_recording(std::string_view file);

}  // namespace holdfast::record
