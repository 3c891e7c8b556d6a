// ApiServer: routes, keys, limits and rules for web pages in front of the handlers.
//
// It serves from the moment it listens: while the model loads every endpoint
// but /health and / answers 503 with how far it has come.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/backend.h"
#include "api/client_responder.h"
#include "api/entrance.h"
#include "api/http_server.h"
#include "api/key_limiter.h"
#include "api/model_events.h"
#include "api/worker_pool.h"
#include "api/worker_probe.h"

namespace holdfast::api {

struct ApiOptions {
  HttpServerOptions http;
  std::vector<std::string> api_keys;  // these three: see ApiKeys
  std::vector<ApiKey> file_keys;
  std::string api_key_file;                // watched; empty: there is none
  std::vector<std::string> allowed_hosts;  // these two: see WebOptions
  std::vector<std::string> cors_origins;
  bool ui = true;  // people get the page (web_page.h)
};

class ApiServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ApiServer>> listen(ApiOptions options);
  ~ApiServer();

  void start() { http_->start(); }
  // See HttpServer.
  [[nodiscard]] Result<void> reload_certificate() { return http_->reload_certificate(); }
  // No new connections; what is being answered goes on.
  void drain();
  void stop();

  // Where the model appears once it is loaded.
  [[nodiscard]] BackendSlot& backend() { return backend_; }
  [[nodiscard]] std::uint16_t port() const { return http_->port(); }
  [[nodiscard]] std::size_t connection_count() const { return http_->connection_count(); }
  // Reads the file of keys again, if there is one. Any thread.
  Result<void> reload_keys() { return entrance_.reload_keys(); }

 private:
  explicit ApiServer(const ApiOptions& options);

  boost::asio::awaitable<void> handle(const HttpRequest& request, HttpResponder& responder);
  // The answer to all that needs no work; nullopt when the model must be asked.
  [[nodiscard]] std::optional<HttpResponse> answer_at_once(const HttpRequest& request,
                                                           const Asker& asker) const;
  [[nodiscard]] HttpResponse answer_named(const HttpRequest& request, const Asker& asker) const;
  [[nodiscard]] std::optional<HttpResponse> refuse_slot_action(const HttpRequest& request) const;
  // Within the limits of the asker's key.
  boost::asio::awaitable<void> answer_limited(const HttpRequest& request, const Asker& asker,
                                              ClientResponder& responder);
  boost::asio::awaitable<void> answer_with_model(const HttpRequest& request, const Asker& asker,
                                                 ClientResponder& responder);
  [[nodiscard]] Worker worker_for(const HttpRequest& request, const Asker& asker);

  Entrance entrance_;
  KeyLimiter limiter_;
  BackendSlot backend_;
  WorkerPool workers_;  // templates, tokens and grammars
  mutable WorkerProbe worker_probe_{workers_};
  // Files of slots; apart, because they may be large and disks slow.
  boost::asio::thread_pool files_{1};
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<ModelEvents> model_events_;
};

}  // namespace holdfast::api
