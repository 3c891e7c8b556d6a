#include "record/recording_writer.h"

#include <utility>

namespace holdfast::record {

namespace {

// A frame ends with a request, or when it has this many bytes.
constexpr std::size_t kFrameBytes = 64 << 10U;

}  // namespace

void RecordingWriter::begin(const RecordingHeader& header) {
  send(recording_magic() + frames_.frame(encode_header(header)));
}

void RecordingWriter::write(const CacheEvent& event) {
  if (!writing_) return;
  encoder_.encode(pending_, event);
  if (pending_.size() >= kFrameBytes) end_frame();
}

void RecordingWriter::end_frame() {
  if (!writing_ || pending_.size() == 0) return;
  if (pending_.size() > kFrameBytesMax) return stop("One event is larger than a frame may be.");
  const std::string payload = pending_.take();
  send(frames_.frame(payload));
}

void RecordingWriter::send(std::string bytes) {
  if (auto sent = sink_.write(std::move(bytes)); !sent) stop(sent.error().message);
}

void RecordingWriter::limit_memory() {
  if (!writing_ || encoder_.tokens() <= tokens_max_) return;
  CacheEvent event;
  event.kind = private_form_ ? EventKind::kDone : EventKind::kForget;
  event.done = DoneReason::kTooManyTokens;
  write(event);
  end_frame();
  if (private_form_) {
    stop("It has seen " + std::to_string(encoder_.tokens()) +
         " different tokens, as many as a private recording can tell apart.");
  }
}

void RecordingWriter::stop(const std::string& why) {
  if (!std::exchange(writing_, false)) return;
  pending_.clear();
  if (on_stopped) on_stopped(why);
}

}  // namespace holdfast::record
