// HttpClient: one request at a time over HTTP/1.1 or HTTPS, its answer handed
// over as it arrives. Each request has its own connection.
//
// Between two bytes of a slow answer any time may pass (a long prompt is being
// read), so only connecting and sending have a limit. Once the host's name is known,
// everything ends within a tenth of a second of `stop` saying so.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace holdfast::cli {

struct Url {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string prefix;  // path before every target: "" or "/base"

  // "http://127.0.0.1:8080"
  [[nodiscard]] std::string text() const;
};

// "http://host", "https://host:8443/base", "host:8080". No user, query or fragment.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

struct ClientRequest {
  std::string method = "GET";
  std::string target;  // "/v1/models"
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
};

struct ClientResponse {
  int status = 0;
  std::string content_type;
  std::string body;  // what no BodySink took
};

// Takes pieces of the body of a 2xx answer in order.
using BodySink = std::function<void(std::string_view piece)>;

struct ClientOptions {
  bool verify_peer = true;  // of HTTPS, against the system's certificates
  // True when the user wants the request to end.
  std::function<bool()> stop = [] { return false; };
};

class HttpClient {
 public:
  explicit HttpClient(Url url, ClientOptions options = {});

  [[nodiscard]] const Url& url() const { return url_; }

  // With a `sink` the body of a 2xx answer goes there and not into the response.
  // kUnavailable: nobody answers there. kCancelled: `stop` said so. kTimeout.
  // kIo: the connection broke, or what came was not HTTP.
  [[nodiscard]] Result<ClientResponse> fetch(const ClientRequest& request,
                                             const BodySink& sink = nullptr) const;

 private:
  Url url_;
  ClientOptions options_;
};

}  // namespace holdfast::cli
