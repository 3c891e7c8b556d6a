// PromptReader: prompts are read chunk by chunk, until the first token can be sampled.
//
// Every fourth chunk goes to the prompt that has waited longest, the others to the one that is
// nearest to its first token.
//
// The scheduler's thread.
#pragma once

#include <cstdint>

#include "serve/decoding.h"
#include "serve/loop_core.h"
#include "serve/paced_work.h"
#include "serve/request_ends.h"
#include "serve/speculator.h"

namespace holdfast::serve {

class PromptReader {
 public:
  PromptReader(LoopCore& core, PacedWork& paced, RequestEnds& ends, Decoding& decoding,
               Speculator& speculator)
      : core_(core), paced_(paced), ends_(ends), decoding_(decoding), speculator_(speculator) {}

  // As many chunks as together have no more tokens than the longest. Short prompts that came
  // together then begin to write together: a step for one of them takes nearly as long as one for
  // all. False: there was nothing to do.
  bool read_some();
  // Whether the next round has something to read before those who write go on.
  [[nodiscard]] bool reads_on();
  // The request has begun on this slot. Where nothing is left to read, its answer begins.
  void begin(Slot& slot);

 private:
  [[nodiscard]] Slot* choose();
  void read_chunk(Slot& slot, TokenPos tokens);
  void note_progress(Slot& slot);
  void finish(Slot& slot);

  LoopCore& core_;
  PacedWork& paced_;
  RequestEnds& ends_;
  Decoding& decoding_;
  Speculator& speculator_;
  std::uint64_t chunks_ = 0;
};

}  // namespace holdfast::serve
