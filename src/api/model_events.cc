#include "api/model_events.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/answer_style.h"
#include "api/client_envelope.h"
#include "api/json_fields.h"
#include "api/models_page.h"

namespace holdfast::api {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

// A load takes seconds; nobody sees the difference to being told at once.
constexpr auto kLookEvery = 200ms;
constexpr auto kSilenceMax = 5s;

void append_status(std::string& out, const std::string& model, Json data) {
  append_event(out, json_text(Json{
                        {"model", model}, {"event", "status_change"}, {"data", std::move(data)}}));
}

// In whole percents, so that not every look is news.
Json loading(float share) {
  const double percent = std::floor(static_cast<double>(share) * 100.0);
  return {{"status", "loading"},
          {"progress",
           {{"stages", Json::array({"text_model"})},
            {"current", "text_model"},
            {"value", percent / 100.0}}}};
}

Error too_many() {
  return {
      ErrorCode::kUnavailable,
      std::to_string(ModelEvents::kStreamsMax) +
          " clients are watching the model already. Ask /v1/models instead, or try again later.",
      ""};
}

// Counts one stream for as long as it lives.
class Counted {
 public:
  explicit Counted(std::size_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& count_;
};

// What one client knows, and since when it has heard nothing.
class Told {
 public:
  // The news, if they are news to it; a sign of life where it is time for one; else nothing.
  [[nodiscard]] std::string what_is_new(std::string news) {
    const auto now = std::chrono::steady_clock::now();
    const bool changed = news != known_;
    if (!changed && now - heard_ < kSilenceMax) return "";
    heard_ = now;
    if (!changed) return ": keep-alive\n\n";
    known_ = std::move(news);
    return known_;
  }

 private:
  std::string known_;
  std::chrono::steady_clock::time_point heard_;
};

}  // namespace

std::string ModelEvents::news() const {
  std::string out;
  if (const auto backend = slot_.get()) {
    for (const std::string& name : model_names(*backend))
      append_status(out, name, {{"status", "loaded"}});
  } else {
    append_status(out, "*", loading(slot_.progress()));
  }
  return out;
}

asio::awaitable<void> ModelEvents::show(const HttpRequest& request, HttpResponder& responder) {
  if (streams_ < kStreamsMax) {
    const Counted counted(streams_);
    co_await run(responder);
  } else {
    HttpResponse refusal = refusal_for(request, too_many());
    co_await responder.send(std::move(refusal));
  }
}

asio::awaitable<void> ModelEvents::run(HttpResponder& responder) {
  asio::steady_timer pause(executor_);
  std::function<void()> wake = [&pause] { pause.cancel(); };
  responder.on_gone(std::move(wake));
  Told told;
  HttpResponse head{.content_type = "text/event-stream",
                    .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
                    .body = told.what_is_new(news())};
  co_await responder.begin_stream(std::move(head));
  while (!responder.gone() && !ending_.load()) {
    pause.expires_after(kLookEvery);
    boost::system::error_code over_or_gone;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, over_or_gone));
    const std::string piece = told.what_is_new(news());
    co_await responder.write(piece);
  }
  co_await responder.end_stream();
}

}  // namespace holdfast::api
