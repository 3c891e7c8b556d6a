#include "cli/http_client.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Code = beast::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopCheckEvery{50};
constexpr std::chrono::seconds kConnectLimit{15};
constexpr std::chrono::seconds kSendLimit{60};
constexpr auto kNoLimit = Clock::duration::max();
constexpr std::size_t kErrorBodyMax = 1 << 20;

// Runs asynchronous operations one by one, so that waiting for them can end.
class Waiter {
 public:
  Waiter(asio::io_context& io, const std::function<bool()>& stop) : io_(io), stop_(stop) {}

  // Starts an operation by `start(handler)` and waits for its end. `abandon`
  // makes the operation end early; it is called when time or patience runs out.
  template <typename Start, typename Abandon>
  Code run(Clock::duration limit, Start start, Abandon abandon) {
    // Also where each operation is too short to be abandoned.
    if (stop_()) return asio::error::operation_aborted;
    std::optional<Code> result;
    start([&result](Code code, auto&&...) { result = code; });
    const auto begun = Clock::now();
    std::optional<Code> abandoned;
    while (!result) {
      io_.restart();
      io_.run_one_for(kStopCheckEvery);
      if (result || abandoned) continue;
      if (stop_()) abandoned = asio::error::operation_aborted;
      if (limit != kNoLimit && Clock::now() - begun > limit) abandoned = asio::error::timed_out;
      if (abandoned) abandon();
    }
    return abandoned.value_or(*result);
  }

 private:
  asio::io_context& io_;
  const std::function<bool()>& stop_;
};

Error error_of(Code code, const Url& url) {
  if (code == asio::error::operation_aborted) return {ErrorCode::kCancelled, "stopped", ""};
  if (code == asio::error::timed_out) {
    return {ErrorCode::kTimeout, url.text() + " does not answer", ""};
  }
  return {ErrorCode::kIo, "the connection to " + url.text() + " failed: " + code.message(), ""};
}

Error nobody_there(Code code, const Url& url) {
  if (code == asio::error::operation_aborted) return error_of(code, url);
  return {ErrorCode::kUnavailable, "no server at " + url.text() + ": " + code.message(), ""};
}

std::string host_header(const Url& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + url.host + "]" : url.host;
  return url.port == (url.tls ? "443" : "80") ? host : host + ":" + url.port;
}

http::request<http::string_body> make_request(const Url& url, const ClientRequest& request) {
  http::request<http::string_body> made;
  made.method_string(request.method);
  made.target(url.prefix + request.target);
  made.set(http::field::host, host_header(url));
  made.set(http::field::user_agent, "holdfast-chat");
  made.set(http::field::connection, "close");
  for (const auto& [name, value] : request.headers) made.set(name, value);
  made.body() = request.body;
  made.prepare_payload();
  return made;
}

// One request over a connected stream.
template <typename Stream>
class Exchange {
 public:
  Exchange(Stream& stream, Waiter& waiter, const Url& url)
      : stream_(stream), waiter_(waiter), url_(url) {
    parser_.body_limit(boost::none);
  }

  Result<ClientResponse> run(const ClientRequest& request, const BodySink& sink) {
    const auto sent = make_request(url_, request);
    Code code = wait(kSendLimit, [&](auto done) { http::async_write(stream_, sent, done); });
    // A server may answer, and close, before it has read everything: look first.
    if (code == asio::error::operation_aborted) return error_of(code, url_);
    const Code head = wait(
        kNoLimit, [&](auto done) { http::async_read_header(stream_, buffer_, parser_, done); });
    if (head) return error_of(code ? code : head, url_);
    return read_body(sink);
  }

 private:
  template <typename Start>
  Code wait(Clock::duration limit, Start start) {
    return waiter_.run(limit, std::move(start),
                       [&] { beast::get_lowest_layer(stream_).socket().close(); });
  }

  Result<ClientResponse> read_body(const BodySink& sink) {
    ClientResponse response{static_cast<int>(parser_.get().result_int()),
                            std::string(parser_.get()[http::field::content_type]), ""};
    const bool to_sink = sink != nullptr && response.status / 100 == 2;
    hand_over(response, to_sink ? sink : nullptr);
    while (!parser_.is_done()) {
      const Code code = wait(
          kNoLimit, [&](auto done) { http::async_read_some(stream_, buffer_, parser_, done); });
      hand_over(response, to_sink ? sink : nullptr);
      if (code) return error_of(code, url_);
      if (!to_sink && response.body.size() > kErrorBodyMax) break;
    }
    return response;
  }

  // string_body's reader appends to the body; emptying it between reads is fine.
  void hand_over(ClientResponse& response, const BodySink& sink) {
    std::string piece = std::exchange(parser_.get().body(), {});
    if (piece.empty()) return;
    if (sink) return sink(piece);
    response.body += piece;
  }

  Stream& stream_;
  Waiter& waiter_;
  const Url& url_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
};

Result<void> connect(beast::tcp_stream& stream, asio::io_context& io, Waiter& waiter,
                     const Url& url) {
  asio::ip::tcp::resolver resolver(io);
  Code code;
  const auto addresses = resolver.resolve(url.host, url.port, code);
  if (code) return nobody_there(code, url);
  code = waiter.run(
      kConnectLimit, [&](auto done) { stream.async_connect(addresses, done); },
      [&] { stream.cancel(); });
  if (code) return nobody_there(code, url);
  stream.socket().set_option(asio::ip::tcp::no_delay(true), code);
  return {};
}

using TlsStream = beast::ssl_stream<beast::tcp_stream>;

asio::ssl::context tls_context() {
  asio::ssl::context context(asio::ssl::context::tls_client);
  Code ignored;  // Without system certificates nothing verifies, and the handshake says so.
  context.set_default_verify_paths(ignored);
  return context;
}

void prepare_tls(TlsStream& stream, const Url& url, bool verify) {
  SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str());
  stream.set_verify_mode(verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
  if (verify) stream.set_verify_callback(asio::ssl::host_name_verification(url.host));
}

Result<void> handshake(TlsStream& stream, Waiter& waiter, const Url& url) {
  const Code code = waiter.run(
      kConnectLimit,
      [&](auto done) { stream.async_handshake(asio::ssl::stream_base::client, done); },
      [&] { beast::get_lowest_layer(stream).socket().close(); });
  if (!code) return {};
  if (code == asio::error::operation_aborted) return error_of(code, url);
  return Error{ErrorCode::kIo,
               "no secure connection to " + url.text() + ": " + code.message() +
                   " (--insecure accepts any certificate)",
               ""};
}

Result<Url> bad_url(std::string_view text, std::string_view why) {
  return invalid_argument("--url",
                          "cannot use the address " + std::string(text) + ": " + std::string(why));
}

// Takes "host", "host:port" or "[v6]:port" apart.
bool split_authority(std::string_view text, Url& url) {
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return false;
    url.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const auto colon = std::min(text.find(':'), text.size());
    url.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (rest.starts_with(':')) url.port = rest.substr(1);
  const bool digits = std::all_of(url.port.begin(), url.port.end(),
                                  [](unsigned char c) { return c >= '0' && c <= '9'; });
  return !url.host.empty() && digits && !url.port.empty() && url.port.size() <= 5 &&
         (rest.empty() || rest.starts_with(':'));
}

}  // namespace

std::string Url::text() const {
  return std::string(tls ? "https://" : "http://") + host_header(*this) + prefix;
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  const auto scheme = rest.find("://");
  if (scheme != std::string_view::npos) {
    const std::string_view name = rest.substr(0, scheme);
    if (name != "http" && name != "https") return bad_url(text, "only http and https are known");
    url.tls = name == "https";
    rest.remove_prefix(scheme + 3);
  }
  const auto slash = std::min(rest.find('/'), rest.size());
  url.port = url.tls ? "443" : "80";
  url.prefix = rest.substr(slash);
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  const bool plain = text.find_first_of("@?# \t\r\n") == std::string_view::npos;
  if (!plain || !split_authority(rest.substr(0, slash), url)) {
    return bad_url(text, "it should look like http://127.0.0.1:8080");
  }
  return url;
}

HttpClient::HttpClient(Url url, ClientOptions options)
    : url_(std::move(url)), options_(std::move(options)) {}

Result<ClientResponse> HttpClient::fetch(const ClientRequest& request, const BodySink& sink) const
    try {
  asio::io_context io;
  Waiter waiter(io, options_.stop);
  if (!url_.tls) {
    beast::tcp_stream stream(io);
    if (const auto done = connect(stream, io, waiter, url_); !done) return done.error();
    return Exchange<beast::tcp_stream>(stream, waiter, url_).run(request, sink);
  }
  asio::ssl::context context = tls_context();
  TlsStream stream(io, context);
  prepare_tls(stream, url_, options_.verify_peer);
  auto& lowest = beast::get_lowest_layer(stream);
  if (const auto done = connect(lowest, io, waiter, url_); !done) return done.error();
  if (const auto done = handshake(stream, waiter, url_); !done) return done.error();
  return Exchange<TlsStream>(stream, waiter, url_).run(request, sink);
} catch (const boost::system::system_error& error) {
  return Error{ErrorCode::kIo, error.what(), ""};
}

}  // namespace holdfast::cli
