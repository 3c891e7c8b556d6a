#include "api/http_request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>

#include "api/http_message.h"
#include "base/check.h"

namespace holdfast::api {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// Like http::string_body, but it does not allocate an announced length up front (READER-4).
struct ArrivedBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool kIsRequest, class Fields>
    reader(http::header<kIsRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>&, beast::error_code& error) { error = {}; }

    template <class Buffers>
    std::size_t put(const Buffers& buffers, beast::error_code& error) {
      error = {};
      for (const auto buffer : beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
      }
      return beast::buffer_bytes(buffers);
    }

    void finish(beast::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

HttpFailure failure_of(const beast::error_code& error) {
  if (error == http::error::header_limit) return {431, "the request header is too large"};
  if (error == http::error::body_limit) return {413, "the request body is too large"};
  return {400, "malformed HTTP request: " + error.message()};
}

std::size_t count_blank_lines(std::string_view bytes) {
  std::size_t count = 0;
  while (bytes.substr(count).starts_with("\r\n")) count += 2;
  return count;
}

}  // namespace

struct HttpRequestReader::Parser {
  http::request_parser<ArrivedBody> http;
};

HttpRequestReader::HttpRequestReader(Limits limits)
    : limits_(limits), parser_(std::make_unique<Parser>()) {
  constexpr std::size_t kBeastMax = std::numeric_limits<std::uint32_t>::max();
  parser_->http.header_limit(
      static_cast<std::uint32_t>(std::min(limits.header_bytes_max, kBeastMax)));
  parser_->http.body_limit(limits.body_bytes_max);
}

HttpRequestReader::~HttpRequestReader() = default;

std::size_t HttpRequestReader::put(std::string_view bytes) {
  CHECK(!done() && !failure_);
  std::size_t used = 0;
  if (!header_done()) used = put_header(bytes);
  if (header_done() && !failure_ && !done()) {
    used += put_body(bytes.substr(used));
  }
  limit_leftover(bytes.size() - used);
  return used;
}

std::size_t HttpRequestReader::put_header(std::string_view bytes) {
  // RFC 9112, 2.2: a server ignores empty lines before a request.
  const std::size_t blank = header_bytes_ == 0 ? count_blank_lines(bytes) : 0;
  bytes.remove_prefix(blank);
  if (bytes.empty() || bytes == "\r") return blank;

  beast::error_code error;
  const std::size_t used = parser_->http.put(boost::asio::buffer(bytes), error);
  header_bytes_ += used;
  if (error && error != http::error::need_more) failure_ = failure_of(error);
  if (!failure_ && header_bytes_ > limits_.header_bytes_max) {
    failure_ = failure_of(http::error::header_limit);
  }
  if (header_done() && !failure_) end_header();
  return blank + used;
}

// The parser adds trailers to the headers, so those are put aside now (READER-5).
void HttpRequestReader::end_header() {
  parser_->http.eager(true);
  head_ = head();
  const auto& fields = parser_->http.get();
  const std::size_t hosts = fields.count(http::field::host);
  if (fields.count(http::field::transfer_encoding) > 0 && !parser_->http.chunked()) {
    failure_ = failure_of(http::error::bad_transfer_encoding);  // its end is unknowable
  } else if (hosts > 1) {
    failure_ = {400, "a request has one Host header, and this one has several"};
  } else if (hosts == 0 && !is_http10()) {
    failure_ = {400, "an HTTP/1.1 request needs a Host header"};
  }
}

std::size_t HttpRequestReader::put_body(std::string_view bytes) {
  if (bytes.empty()) return 0;
  beast::error_code error;
  const std::size_t used = parser_->http.put(boost::asio::buffer(bytes), error);
  if (error && error != http::error::need_more) failure_ = failure_of(error);
  return used;
}

void HttpRequestReader::limit_leftover(std::size_t bytes) {
  if (done() || failure_ || bytes <= limits_.header_bytes_max) return;
  failure_ = failure_of(http::error::header_limit);
}

bool HttpRequestReader::header_done() const { return parser_->http.is_header_done(); }
bool HttpRequestReader::done() const { return !failure_ && parser_->http.is_done(); }

bool HttpRequestReader::awaits_continue() const {
  if (!header_done() || done() || is_http10()) return false;
  return beast::iequals(parser_->http.get()[http::field::expect], "100-continue");
}

bool HttpRequestReader::keep_alive() const { return parser_->http.keep_alive(); }
bool HttpRequestReader::is_http10() const { return parser_->http.get().version() == 10; }

std::uint64_t HttpRequestReader::body_bytes() const { return parser_->http.get().body().size(); }

std::uint64_t HttpRequestReader::body_bytes_announced() const {
  return parser_->http.content_length().value_or(0);
}

HttpRequest HttpRequestReader::head() const {
  if (head_) return *head_;
  const auto& message = parser_->http.get();
  HttpTarget target = parse_target(message.target());
  HttpRequest request;
  request.method = message.method_string();
  request.path = std::move(target.path);
  request.query = std::move(target.query);
  for (const auto& field : message) {
    request.headers.emplace_back(field.name_string(), field.value());
  }
  return request;
}

HttpRequest HttpRequestReader::take() {
  CHECK(done());
  HttpRequest request = std::move(*head_);
  request.body = std::move(parser_->http.get().body());
  return request;
}

}  // namespace holdfast::api
