#include "api/cache_events_page.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <chrono>
#include <string>

#include "api/cache_events.h"
#include "api/client_envelope.h"
#include "api/openai_errors.h"
#include "api/own_space.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

// People see no difference to being told at once.
constexpr auto kLookEvery = 100ms;
constexpr auto kSilenceMax = 5s;

Error too_many() {
  return {ErrorCode::kUnavailable,
          std::to_string(CacheEvents::kWatchersMax) +
              " clients are watching already. Ask /cache instead, or try again later.",
          ""};
}

// The place behind which to begin.
Result<std::uint64_t> read_place(const HttpRequest& request, const CacheEvents& events) {
  const std::string asked = request.query_value("after");
  const std::string text = asked.empty() ? std::string(request.header("Last-Event-ID")) : asked;
  if (text.empty()) return events.last();
  std::uint64_t place = 0;
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, place);
  if (problem == std::errc() && end == last) return place;
  return invalid_argument("after", "'after' must be the id of an event");
}

void append_named(std::string& out, std::uint64_t id, const char* name, std::string_view data) {
  out += "id: " + std::to_string(id) + "\nevent: " + name + "\ndata: ";
  out += data;
  out += "\n\n";
}

// One watcher among those that are counted, for as long as it lives.
class Watcher {
 public:
  Watcher(CacheEvents& events, std::uint64_t place, std::optional<SpaceKey> only)
      : events_(events), place_(place), only_(only) {}
  ~Watcher() { events_.leave_watcher(); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // What is new to it; a sign of life where it is time for one; else nothing.
  [[nodiscard]] std::string next() {
    const CacheEvents::News news = events_.since(place_, only_);
    std::string out;
    if (news.missed) append_named(out, place_, "events.missed", "{}");
    for (const CacheEvent& event : news.events)
      append_named(out, event.number, event.name, event.data);
    place_ = news.last;
    const auto now = std::chrono::steady_clock::now();
    if (out.empty() && now - heard_ >= kSilenceMax) out = ": keep-alive\n\n";
    if (!out.empty()) heard_ = now;
    return out;
  }

 private:
  CacheEvents& events_;
  std::uint64_t place_;
  const std::optional<SpaceKey> only_;
  std::chrono::steady_clock::time_point heard_;
};

asio::awaitable<void> watch(asio::any_io_executor io, CacheEvents& events, Watcher& watcher,
                            HttpResponder& responder) {
  asio::steady_timer pause(io);
  std::function<void()> wake = [&pause] { pause.cancel(); };
  responder.on_gone(std::move(wake));
  HttpResponse head{.content_type = "text/event-stream",
                    .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
                    .body = "retry: 1000\n\n" + watcher.next()};
  co_await responder.begin_stream(std::move(head));
  while (!responder.gone() && !events.closed()) {
    pause.expires_after(kLookEvery);
    boost::system::error_code over_or_gone;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, over_or_gone));
    const std::string piece = watcher.next();
    co_await responder.write(piece);
  }
  co_await responder.end_stream();
}

}  // namespace

asio::awaitable<void> show_cache_events(AnswerContext context, const HttpRequest& request,
                                        HttpResponder& responder) {
  CacheEvents& events = *context.backend->events;
  const auto place = read_place(request, events);
  if (!place) {
    HttpResponse refused = error_response(place.error());
    co_await responder.send(std::move(refused));
    co_return;
  }
  if (!events.admit_watcher()) {
    HttpResponse refused = refusal_for(request, too_many());
    co_await responder.send(std::move(refused));
    co_return;
  }
  Watcher watcher(events, *place, own_space(context, request));
  co_await watch(context.io, events, watcher, responder);
}

}  // namespace holdfast::api
