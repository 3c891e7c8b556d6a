// HttpRequestReader turns bytes into one HttpRequest, within limits. No I/O.
//
// Invariants:
//   READER-1  a header block over `header_bytes_max` fails with 431
//   READER-2  a body over `body_bytes_max` fails with 413: at once when Content-Length
//             says so, otherwise at the first chunk too many
//   READER-3  bytes not yet used (a partial line, a chunk's head, trailers) never
//             exceed `header_bytes_max`
//   READER-4  memory grows with the bytes that arrived, not with the length announced
//   READER-5  fields behind the body (trailers) are no headers
//   READER-6  an HTTP/1.1 request without Host, and any with two, fails with 400
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/http_server.h"

namespace holdfast::api {

struct HttpFailure {
  int status;
  std::string message;
};

class HttpRequestReader {
 public:
  struct Limits {
    std::size_t header_bytes_max;
    std::uint64_t body_bytes_max;
  };

  explicit HttpRequestReader(Limits limits);
  ~HttpRequestReader();
  HttpRequestReader(HttpRequestReader&&) = delete;

  // Uses bytes from the front and returns how many. What is left must come
  // again, followed by more. REQUIRES: !done() and !failure().
  [[nodiscard]] std::size_t put(std::string_view bytes);

  [[nodiscard]] bool header_done() const;
  [[nodiscard]] bool done() const;
  [[nodiscard]] const std::optional<HttpFailure>& failure() const { return failure_; }

  // True while the client waits for `100 Continue` before it sends the body.
  [[nodiscard]] bool awaits_continue() const;

  // REQUIRES: done().
  [[nodiscard]] bool keep_alive() const;
  [[nodiscard]] bool is_http10() const;
  [[nodiscard]] HttpRequest take();
  // The request without its body, as far as it has been read; for answers to failures.
  [[nodiscard]] HttpRequest head() const;
  [[nodiscard]] std::uint64_t body_bytes() const;  // that have arrived
  // 0: not announced. REQUIRES: header_done().
  [[nodiscard]] std::uint64_t body_bytes_announced() const;

 private:
  struct Parser;

  std::size_t put_header(std::string_view bytes);
  std::size_t put_body(std::string_view bytes);
  void limit_leftover(std::size_t bytes);
  void end_header();

  const Limits limits_;
  std::unique_ptr<Parser> parser_;
  std::size_t header_bytes_ = 0;     // used so far
  std::optional<HttpRequest> head_;  // once it is complete
  std::optional<HttpFailure> failure_;
};

}  // namespace holdfast::api
