// RecordingWriter: turns events into frames, and hands them to a sink.
//
//   events --EventEncoder--> bytes of the next frame --FrameWriter--> RecordingSink
//
// Memory: the encoder remembers sequences of at most `tokens_max` tokens. Beyond that it starts
// over, which costs a few bytes for each prompt that comes again; a private recording ends there,
// because it could no longer say which sequences agree.
//
// Invariant, tested by RecordingBesideTheServer.ChangesNoAnswerWhereverTheDiskFails in
// src/serve/recording_safety_test.cc:
//   WRITER-1  nothing reaches the sink after stop(), and on_stopped was told why, once
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "record/recording_events.h"
#include "record/recording_file.h"
#include "record/recording_frames.h"

namespace holdfast::record {

class RecordingWriter {
 public:
  // REQUIRES: the sink outlives it.
  RecordingWriter(RecordingSink& sink, bool private_form, std::uint64_t tokens_max)
      : sink_(sink), private_form_(private_form), tokens_max_(tokens_max), encoder_(private_form) {}

  // Told when the recording stops before its end.
  std::function<void(const std::string& why)> on_stopped;

  [[nodiscard]] bool writing() const { return writing_; }
  void begin(const RecordingHeader& header);
  void write(const CacheEvent& event);
  // Sends what was written since the last frame, if anything.
  void end_frame();
  // Starts over, or stops, where the encoder remembers too much.
  void limit_memory();
  void stop(const std::string& why);

 private:
  void send(std::string bytes);

  RecordingSink& sink_;
  const bool private_form_;
  const std::uint64_t tokens_max_;
  EventEncoder encoder_;
  FrameWriter frames_;
  RecordWriter pending_;  // events of the next frame
  bool writing_ = true;
};

}  // namespace holdfast::record
