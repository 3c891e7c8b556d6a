// Entrance: who may ask this server for what, decided from the head of a request.
//
//   WebRules   may the web page that sends it use this server?
//   ApiKeys    whose key does it carry? The file of keys is watched.
//   may_ask    does that key's role include this page?
//
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/access.h"
#include "api/file_watch.h"
#include "api/http_server.h"
#include "api/web_rules.h"

namespace holdfast::api {

struct EntranceOptions {
  std::vector<std::string> api_keys;  // these three: see ApiKeys
  std::vector<ApiKey> file_keys;
  std::string api_key_file;  // watched; empty: there is none
  WebOptions web;
  bool page = true;  // people are shown the page (web_page.h)
};

class Entrance {
 public:
  explicit Entrance(const EntranceOptions& options);

  // Why the request is not answered; nothing: it is.
  [[nodiscard]] std::optional<HttpResponse> refuse(const HttpRequest& request) const;
  // Nobody in particular asks for pages that are open to all.
  [[nodiscard]] Asker who(const HttpRequest& request) const;
  // See WebRules.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers_for(
      const HttpRequest& request) const {
    return web_.headers_for(request, keys_.required());
  }
  [[nodiscard]] HttpResponse preflight(const HttpRequest& request) const {
    return web_.preflight(request, keys_.required());
  }
  [[nodiscard]] bool shows_page() const { return page_; }
  // Reads the file of keys again, if there is one.
  Result<void> reload_keys() { return keys_.reload(); }

 private:
  ApiKeys keys_;
  const WebRules web_;
  const bool page_;
  std::optional<FileWatch> key_watch_;  // the last, because it uses the keys
};

}  // namespace holdfast::api
