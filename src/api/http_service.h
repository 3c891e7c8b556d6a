// What all connections of a server share, and a request as it came in.
#pragma once

#include <memory>
#include <string_view>

#include "api/http_body_budget.h"
#include "api/http_server.h"

namespace holdfast::api {

// Outlives the connections.
struct HttpService {
  HttpServerOptions options;
  HttpHandler handler;
  bool draining = false;  // answers say that the connection will close
  std::shared_ptr<BodyBudget> bodies = std::make_shared<BodyBudget>(options.bodies_bytes_max);

  [[nodiscard]] HttpResponse error_page(int status, std::string_view message,
                                        const HttpRequest& head) const;
};

struct IncomingRequest {
  HttpRequest request;
  bool keep_alive = false;
  bool is_http10 = false;  // such a client knows no chunks
  BodyHold body_hold = {};
};

}  // namespace holdfast::api
