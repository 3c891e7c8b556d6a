// AnswerStyle writes one answer in one protocol's words.
//
// answer() (api/answer.h) runs the generations of a request, reads their text and
// tells the style what happened; the style turns that into bytes and knows nothing
// of mailboxes, threads or sockets. The calls for one answer, verified by
// CheckedStyle in answer_test.cc:
//   STYLE-1  a whole answer: whole(), once, after all choices have finished
//   STYLE-2  a stream: begin() once and first; then on_progress, on_deltas,
//            on_finished and keep_alive; end() or fail() once and last
//   STYLE-3  on_finished comes once for each choice, after its last on_deltas
//
// A style appends complete pieces (server-sent events, lines) to `out`; what several calls
// append may be sent together. It lives on the I/O thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/text.h"
#include "serve/request.h"

namespace holdfast::api {

class AnswerStyle {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  using Deltas = std::vector<engine::ReplyDelta>;

  virtual ~AnswerStyle() = default;

  // Of a stream; a whole answer is JSON.
  [[nodiscard]] virtual const char* stream_type() const { return "text/event-stream"; }
  // Go out with the answer, whole or streamed.
  [[nodiscard]] virtual Headers headers() const { return {}; }

  // The body of an answer that is not streamed.
  [[nodiscard]] virtual std::string whole() = 0;

  // True: the stream begins as soon as the request has been taken. False: when the
  // first generation has its slot, or after a while in the queue, so that a refusal
  // before that still has its own status.
  [[nodiscard]] virtual bool begins_at_once() const { return false; }
  // A request for a stream may be refused before it runs. True: with a stream that begins
  // and fails. False: with a status of its own.
  [[nodiscard]] virtual bool streams_refusal(const Error& /*error*/) const { return false; }
  virtual void begin(std::string& out) = 0;
  // Only where the request asked for progress.
  virtual void on_progress(std::size_t choice, const serve::PromptProgress& progress,
                           std::string& out) = 0;
  // May be empty: the generation goes on, and has nothing to show yet. `timings` are
  // those so far; null with the last deltas of a choice.
  virtual void on_deltas(std::size_t choice, const Deltas& deltas, const serve::Timings* timings,
                         std::string& out) = 0;
  virtual void on_finished(std::size_t choice, std::string& out) = 0;
  // Nothing was sent for Backend::keep_alive_every. Where nothing is appended, it is called again
  // after as long.
  virtual void keep_alive(std::string& out) = 0;
  virtual void end(std::string& out) = 0;
  // The stream ends here, because of `error`.
  virtual void fail(const Error& error, std::string& out) = 0;
};

// One server-sent event without a name.
inline void append_event(std::string& out, std::string_view json) {
  out += "data: ";
  out += json;
  out += "\n\n";
}

}  // namespace holdfast::api
