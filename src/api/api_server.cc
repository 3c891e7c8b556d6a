#include "api/api_server.h"

#include <algorithm>
#include <functional>
#include <map>
#include <variant>

#include "api/cache_events_page.h"
#include "api/cache_pages.h"
#include "api/cache_tree.h"
#include "api/client_envelope.h"
#include "api/client_responder.h"
#include "api/completions.h"
#include "api/control.h"
#include "api/embeddings.h"
#include "api/infill.h"
#include "api/info.h"
#include "api/messages.h"
#include "api/metrics.h"
#include "api/models_page.h"
#include "api/ollama.h"
#include "api/ollama_errors.h"
#include "api/ollama_pages.h"
#include "api/responses_pages.h"
#include "api/slot_actions.h"
#include "api/web_page.h"
#include "api/worker.h"
#include "env/log.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

// --- the table of routes -----------------------------------------------------

using Completion = asio::awaitable<void> (*)(AnswerContext, const HttpRequest&, HttpResponder&);
using Reader = HttpResponse (*)(const Backend&);
using AskerReader = HttpResponse (*)(const Backend&, const Asker&);
using TenantReader = HttpResponse (*)(const Backend&, const HttpRequest&,
                                      const std::string& key_name);
// Runs on the worker's thread.
using Transformer = HttpResponse (*)(const Backend&, const HttpRequest&);

struct Route {
  const char* method;
  std::variant<Completion, Reader, AskerReader, TenantReader, Transformer> handler;
};
using Routes = std::vector<Route>;  // one for each method of a path

// Paths without their optional "/v1".
const std::map<std::string_view, Routes> kRoutes = {
    {"/chat/completions", {{"POST", &answer_chat}}},
    {"/chat/completions/input_tokens", {{"POST", &count_chat_tokens}}},
    {"/chat/completions/control", {{"POST", &answer_control}}},
    {"/completions", {{"POST", &answer_text}}},
    {"/completion", {{"POST", &answer_text}}},
    {"/infill", {{"POST", &answer_infill}}},
    {"/embeddings", {{"POST", &answer_embeddings}}},
    {"/embedding", {{"POST", &answer_embeddings}}},
    {"/rerank", {{"POST", &answer_rerank}}},
    {"/reranking", {{"POST", &answer_rerank}}},
    {"/messages", {{"POST", &answer_messages}}},
    {"/messages/count_tokens", {{"POST", &count_message_tokens}}},
    {"/responses", {{"POST", &answer_response}}},
    {"/responses/input_tokens", {{"POST", &count_input_tokens}}},
    {"/api/version", {{"GET", &show_ollama_version}}},
    {"/api/tags", {{"GET", &list_ollama_models}}},
    {"/api/ps", {{"GET", &list_running_models}}},
    {"/api/show", {{"POST", &show_ollama_model}}},
    {"/api/chat", {{"POST", &answer_ollama_chat}}},
    {"/api/generate", {{"POST", &answer_ollama_generate}}},
    {"/api/embed", {{"POST", &answer_embeddings}}},
    {"/api/embeddings", {{"POST", &answer_embeddings}}},
    {"/models", {{"GET", &list_models}}},
    {"/props", {{"GET", &show_props}, {"POST", &change_props}}},
    {"/slots", {{"GET", &list_slots}}},
    {"/metrics", {{"GET", &show_metrics}}},
    {"/cache", {{"GET", &show_cache}, {"DELETE", &clear_cache}}},
    {"/cache/tree", {{"GET", &show_cache_tree}, {"DELETE", &drop_conversation}}},
    {"/cache/events", {{"GET", &show_cache_events}}},
    {"/cache/receipts", {{"GET", &list_receipts}}},
    {"/tokenize", {{"POST", &tokenize}}},
    {"/detokenize", {{"POST", &detokenize}}},
    {"/apply-template", {{"POST", &apply_template}}},
};

// Pages about one thing, whose name follows the prefix and may hold slashes.
using NamedPage = HttpResponse (*)(const Backend&, const HttpRequest&, const std::string& key_name,
                                   const std::string& name);

HttpResponse show_named_model(const Backend& backend, const HttpRequest& request,
                              const std::string&, const std::string& name) {
  return show_model(backend, request, name);
}

struct NamedRoute {
  const char* method;
  std::string_view prefix;  // without its optional "/v1"
  NamedPage page;
};
constexpr NamedRoute kNamedRoutes[] = {
    {"GET", "/models/", &show_named_model},
    {"GET", "/cache/receipts/", &show_receipt},
    {"GET", "/responses/", &show_response},
    {"DELETE", "/responses/", &delete_response},
};

// "3" of /slots/3; nothing for other paths.
std::optional<std::string> slot_of(const HttpRequest& request) {
  constexpr std::string_view kSlots = "/slots/";
  const std::string_view path = without_version(request.path);
  if (!path.starts_with(kSlots)) return std::nullopt;
  return std::string(path.substr(kSlots.size()));
}

HttpResponse not_found(const HttpRequest& request) {
  if (auto refusal = refuse_library(request)) return std::move(*refusal);
  std::vector<std::string_view> paths;
  for (const auto& [path, routes] : kRoutes) paths.push_back(path);
  return no_such_path(request, paths);
}

HttpResponse wrong_method(const Routes& routes, const HttpRequest& request) {
  std::string methods;
  for (const Route& route : routes) (methods += methods.empty() ? "" : ", ") += route.method;
  HttpResponse response = refusal_for(
      request, 405, request.path + " takes " + methods + ", not " + request.method + ".");
  response.headers.emplace_back("Allow", methods);
  return response;
}

// nullptr: none of them takes the request's method.
const Route* route_for(const Routes& routes, const HttpRequest& request) {
  const std::string_view asked = request.method;
  const std::string_view method = asked == "HEAD" ? "GET" : asked;
  const auto found =
      std::ranges::find_if(routes, [&](const Route& route) { return method == route.method; });
  return found == routes.end() ? nullptr : &*found;
}

// --- what is kept an eye on ------------------------------------------------------

// Actions that somebody may want to know of later.
std::string audited_action(const HttpRequest& request) {
  if (request.method == "DELETE") {
    const std::string_view path = without_version(request.path);
    if (path == "/cache") return "clear cache";
    if (path == "/cache/tree") return "drop a conversation";
  }
  const auto slot = slot_of(request);
  if (!slot || request.method != "POST") return "";
  return "slot " + request.query_value("action").substr(0, kClientTextMax);
}

void audit(const HttpRequest& request, const Asker& asker, int status) {
  const std::string action = audited_action(request);
  if (action.empty()) return;
  env::Log::info("audit", {{"action", action},
                           {"key", asker.name},
                           {"path", std::string_view(request.path).substr(0, kClientTextMax)},
                           {"client", request.peer},
                           {"status", status}});
}

int slots_working_for(const Backend* backend, const Asker& asker) {
  if (backend == nullptr || asker.limits.queue == 0) return 0;
  const auto slots = backend->scheduler->status().slots;
  return static_cast<int>(std::ranges::count(slots, asker.client, &serve::SlotStatus::client));
}

HttpResponse over_limit(const HttpRequest& request, const KeyLimiter::Refusal& refusal) {
  HttpResponse response = refusal_for(request, 429, refusal.message);
  response.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after_s));
  return response;
}

HttpResponse show_page(const HttpRequest& request, bool shown, const BackendSlot& slot) {
  const auto files = shown ? web_files() : std::span<const WebFile>();
  if (auto page = web_page(request, files)) return *page;
  if (!shown) return welcome_page(slot, PageState::kOff);
  return welcome_page(slot, files.empty() ? PageState::kNotBuilt : PageState::kShown);
}

// What a client sees of a server that has no model yet.
HttpResponse still_loading(const HttpRequest& request, const BackendSlot& slot) {
  if (!speaks_anthropic(request) && !speaks_ollama(request)) return health(slot);
  const int percent = static_cast<int>(slot.progress() * 100.0F);
  return refusal_for(request, {ErrorCode::kUnavailable,
                               "The model is loading (" + std::to_string(percent) + "%).", ""});
}

}  // namespace

ApiServer::ApiServer(const ApiOptions& options)
    : entrance_({options.api_keys,
                 options.file_keys,
                 options.api_key_file,
                 {options.http.hosts, options.allowed_hosts, options.cors_origins},
                 options.ui}) {}

ApiServer::~ApiServer() { stop(); }

Result<std::unique_ptr<ApiServer>> ApiServer::listen(ApiOptions options) {
  std::unique_ptr<ApiServer> server(new ApiServer(options));
  options.http.error_page = [](int status, std::string_view message, const HttpRequest& head) {
    log_request(head, {.status = status, .why = std::string(message)});
    HttpResponse page = refusal_for(head, status, message);
    if (status == 503) page.headers.emplace_back("Retry-After", "1");
    return page;
  };
  options.http.refuse_head = [self = server.get()](const HttpRequest& head) {
    auto refused = self->entrance_.refuse(head);
    if (refused) {
      log_request(head, {.status = refused->status, .why = reason_in(refused->body)});
      for (auto& header : self->entrance_.headers_for(head)) refused->headers.push_back(header);
    }
    return refused;
  };
  auto http = HttpServer::listen(
      std::move(options.http),
      [self = server.get()](const HttpRequest& request, HttpResponder& responder) {
        return self->handle(request, responder);
      });
  if (!http) return http.error();
  server->http_ = std::move(*http);
  server->model_events_ =
      std::make_unique<ModelEvents>(server->backend_, server->http_->executor());
  return server;
}

void ApiServer::drain() {
  model_events_->end_all();
  if (const auto backend = backend_.get()) backend->events->close();
  http_->drain();
}

void ApiServer::stop() {
  if (http_ != nullptr) http_->stop();
  const auto backend = backend_.get();
  if (backend != nullptr && backend->embeddings != nullptr) backend->embeddings->stop();
  workers_.stop();
  files_.join();
}

asio::awaitable<void> ApiServer::handle(const HttpRequest& request, HttpResponder& responder) {
  const bool preflight = request.method == "OPTIONS";
  ClientResponder answering(
      request, responder, preflight ? ClientResponder::Headers{} : entrance_.headers_for(request));
  if (auto refused = entrance_.refuse(request)) {
    co_await answering.send(std::move(*refused));
    co_return;
  }
  if (preflight) {
    HttpResponse allowed = entrance_.preflight(request);
    co_await answering.send(std::move(allowed));
    co_return;
  }
  const Asker asker = entrance_.who(request);
  if (auto immediate = answer_at_once(request, asker)) {
    co_await answering.send(std::move(*immediate));
  } else {
    co_await answer_limited(request, asker, answering);
  }
  audit(request, asker, answering.note().status);
}

std::optional<HttpResponse> ApiServer::answer_at_once(const HttpRequest& request,
                                                      const Asker& asker) const {
  if (request.outside) return not_found(request);
  const std::string_view path = without_version(request.path);
  if (path == "/health") return health(backend_, worker_probe_.waiting_ms());
  if (asks_for_page(request)) return show_page(request, entrance_.shows_page(), backend_);
  if (path == "/api/hello" && request.method != "POST") return hello();
  if (slot_of(request)) return refuse_slot_action(request);
  if (path == ModelEvents::kPath && request.method == "GET") return std::nullopt;
  const auto found = kRoutes.find(path);
  if (found == kRoutes.end()) return answer_named(request, asker);
  const Route* route = route_for(found->second, request);
  if (route == nullptr) return wrong_method(found->second, request);
  const auto backend = backend_.get();
  if (backend == nullptr) return still_loading(request, backend_);
  if (const auto* reader = std::get_if<Reader>(&route->handler)) return (*reader)(*backend);
  if (const auto* reader = std::get_if<AskerReader>(&route->handler)) {
    return (*reader)(*backend, asker);
  }
  if (const auto* reader = std::get_if<TenantReader>(&route->handler)) {
    return (*reader)(*backend, request, asker.key_name);
  }
  return std::nullopt;
}

HttpResponse ApiServer::answer_named(const HttpRequest& request, const Asker& asker) const {
  const std::string_view path = without_version(request.path);
  const auto found = std::ranges::find_if(kNamedRoutes, [&](const NamedRoute& route) {
    return request.method == route.method && path.starts_with(route.prefix);
  });
  if (found == std::end(kNamedRoutes)) return not_found(request);
  const auto backend = backend_.get();
  if (backend == nullptr) return still_loading(request, backend_);
  return found->page(*backend, request, asker.key_name,
                     std::string(path.substr(found->prefix.size())));
}

std::optional<HttpResponse> ApiServer::refuse_slot_action(const HttpRequest& request) const {
  if (request.method != "POST") return wrong_method({{"POST", Reader{}}}, request);
  if (backend_.get() == nullptr) return health(backend_);
  return std::nullopt;
}

Worker ApiServer::worker_for(const HttpRequest& request, const Asker& asker) {
  return {&workers_, asker.client, request.body.size() > WorkerPool::kHeavyBytes};
}

asio::awaitable<void> ApiServer::answer_limited(const HttpRequest& request, const Asker& asker,
                                                ClientResponder& responder) {
  if (request.method != "POST") {  // pages about the server
    co_await answer_with_model(request, asker, responder);
    co_return;
  }
  const auto admitted = limiter_.admit(asker, slots_working_for(backend_.get().get(), asker),
                                       std::chrono::steady_clock::now());
  if (const auto* refusal = std::get_if<KeyLimiter::Refusal>(&admitted)) {
    HttpResponse response = over_limit(request, *refusal);
    co_await responder.send(std::move(response));
  } else {
    co_await answer_with_model(request, asker, responder);  // `admitted` is held meanwhile
  }
}

asio::awaitable<void> ApiServer::answer_with_model(const HttpRequest& request, const Asker& asker,
                                                   ClientResponder& responder) {
  if (const auto slot = slot_of(request)) {
    SlotContext context{backend_.get(), http_->executor(), files_.get_executor(), asker.key_name};
    co_await answer_slot_action(std::move(context), *slot, request, responder);
    co_return;
  }
  if (without_version(request.path) == ModelEvents::kPath) {
    co_await model_events_->show(request, responder);
    co_return;
  }
  const Route& route = *route_for(kRoutes.at(without_version(request.path)), request);
  const auto backend = backend_.get();
  if (const auto* completion = std::get_if<Completion>(&route.handler)) {
    AnswerContext context{backend,          http_->executor(), worker_for(request, asker),
                          asker.client,     asker.key_name,    asker.sees_all(),
                          &responder.note()};
    co_await (*completion)(std::move(context), request, responder);
    co_return;
  }
  const auto transform = std::get<Transformer>(route.handler);
  const auto work = [&] { return transform(*backend, request); };
  HttpResponse response = co_await on_worker(worker_for(request, asker), work);
  co_await responder.send(std::move(response));
}

}  // namespace holdfast::api
