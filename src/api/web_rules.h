// WebRules: which web pages may use this server.
//
// A browser runs programs of strangers. A page has two ways to a server on its user's machine:
//
//   another origin   a page of https://evil.example asks http://127.0.0.1:8080. The browser sends
//                    its Origin, and shows it the answer only where CORS headers allow that. But
//                    simple requests (a form's POST) are carried out before it looks.
//   a rebound name   evil.example leads to its owner's server first and to 127.0.0.1 afterwards.
//                    To the browser page and server are of one origin; only Host shows the name.
//
// With API keys neither gives a page anything, because a browser adds no key by itself: then any
// Host will do, and another origin is answered like everybody. A page that has a key was given it.
// Without keys both are refused, with a sentence that names the option to allow them.
//
// A Host that is an address is always known: rebinding needs a name. No name leads to a UNIX
// socket. A server that listens on more than this machine also knows names that only a local
// resolver answers (`holdfast` of a container, x.local): who can claim such a name can reach the
// server without a browser.
//
// Invariants, verified by the tests of the same numbers (web_rules_test.cc):
//   WEB-1  without keys, a request whose Host is a name that the server does not know is refused
//   WEB-2  an answer carries CORS headers only for an origin that the options allow; or, where keys
//          are asked for and no origins are named, for any, without credentials and if the request
//          carries a key
//   WEB-3  without keys, a request by a page of another origin that is not allowed is refused, save
//          the question whether it may (a preflight); a link to the server may be followed
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http_server.h"

namespace holdfast::api {

struct WebOptions {
  std::vector<std::string> hosts = {"127.0.0.1"};  // where the server listens
  std::vector<std::string> allowed_hosts;          // further names of it; "*": any
  // Origins such as "https://a.example" or "app://*"; "localhost": pages of this machine, on any
  // port; "*": all.
  std::vector<std::string> cors_origins;
};

class WebRules {
 public:
  explicit WebRules(WebOptions options);

  // Why a request is not answered.
  [[nodiscard]] std::optional<HttpResponse> refuse(const HttpRequest& request,
                                                   bool keys_required) const;
  // The headers that an answer to this request carries; none without an allowed Origin.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers_for(
      const HttpRequest& request, bool keys_required) const;
  // REQUIRES: !refuse(request). Without CORS headers, and with the reason, for a page that may not
  // use the server: its browser sends no more.
  [[nodiscard]] HttpResponse preflight(const HttpRequest& request, bool keys_required) const;

 private:
  [[nodiscard]] bool knows_host(std::string_view name) const;
  [[nodiscard]] bool allows(std::string_view origin) const;
  [[nodiscard]] bool allows_all_origins() const;
  [[nodiscard]] bool grants(const HttpRequest& request, bool keys_required) const;
  [[nodiscard]] bool from_foreign_page(const HttpRequest& request) const;

  const WebOptions options_;
  const std::string own_name_;  // of this machine
  const bool local_;            // the server listens on this machine alone
};

}  // namespace holdfast::api
