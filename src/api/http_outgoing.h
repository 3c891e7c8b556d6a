// OutgoingBytes: the bytes of one answer, from what a handler says to what is written.
//
//   begin   add   add   add        end_body
//     v      v     v     v             v
//   head_ | queued_ ................ last chunk      not framed yet
//     \______________ ____________________/
//                    v take()
//                sending_   [####......]             framed as one chunk; rest() is unsent
//
// No I/O.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "api/http_message.h"

namespace holdfast::api {

class OutgoingBytes {
 public:
  // `head` goes out first, as it is. `framing` says how add() is framed.
  void begin(std::string head, BodyFraming framing) {
    head_ = std::move(head);
    framing_ = framing;
  }
  void add(std::string_view piece) { queued_.append(piece); }
  // The last chunk, where there are chunks.
  void end_body() { last_chunk_due_ = framing_ == BodyFraming::kChunked; }
  void drop_queued() { queued_ = {}; }

  // Frames all that is queued; false when there is nothing. REQUIRES: rest() is empty.
  [[nodiscard]] bool take() {
    sending_ = std::exchange(head_, {});
    sent_ = 0;
    if (framing_ == BodyFraming::kChunked && !queued_.empty()) {
      append_chunk(sending_, queued_);
    } else {
      sending_.append(queued_);
    }
    queued_.clear();
    if (std::exchange(last_chunk_due_, false)) sending_.append(kLastChunk);
    return !sending_.empty();
  }
  [[nodiscard]] std::string_view rest() const { return std::string_view(sending_).substr(sent_); }
  void note_sent(std::size_t bytes) { sent_ += bytes; }

  [[nodiscard]] std::size_t queued() const { return queued_.size(); }
  [[nodiscard]] std::size_t unsent() const { return queued_.size() + rest().size(); }

 private:
  BodyFraming framing_ = BodyFraming::kNone;
  std::string head_;
  std::string queued_;
  std::string sending_;
  std::size_t sent_ = 0;
  bool last_chunk_due_ = false;
};

}  // namespace holdfast::api
