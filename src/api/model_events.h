// ModelEvents: GET /models/sse, what becomes of the model, in the words of llama-server's router.
//
//   data: {"model":"*","event":"status_change","data":{"status":"loading","progress":
//          {"stages":["text_model"],"current":"text_model","value":0.25}}}
//   data: {"model":"pocket","event":"status_change","data":{"status":"loaded"}}
//
// How things stand comes at once, then each change, and a comment where nothing changes for a
// while. "*": the model has no name before it is loaded. A loaded model stays loaded, so the stream
// says nothing more until the server stops.
//
// Invariants, verified by model_events_test.cc:
//   MEVENTS-1  at most kStreamsMax clients watch at the same time; further ones get 503
//
// The I/O thread, but for end_all().
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "api/backend.h"
#include "api/http_server.h"

namespace holdfast::api {

class ModelEvents {
 public:
  static constexpr std::string_view kPath = "/models/sse";
  static constexpr std::size_t kStreamsMax = 64;

  // `slot` outlives it. `io`: the handlers' own thread.
  ModelEvents(const BackendSlot& slot, boost::asio::any_io_executor io)
      : slot_(slot), executor_(std::move(io)) {}

  // Until the client goes or the server stops.
  boost::asio::awaitable<void> show(const HttpRequest& request, HttpResponder& responder);
  // The streams end soon. Any thread.
  void end_all() { ending_.store(true); }

 private:
  boost::asio::awaitable<void> run(HttpResponder& responder);
  // What to say of the model as it stands now.
  [[nodiscard]] std::string news() const;

  const BackendSlot& slot_;
  const boost::asio::any_io_executor executor_;
  std::size_t streams_ = 0;
  std::atomic<bool> ending_ = false;
};

}  // namespace holdfast::api
