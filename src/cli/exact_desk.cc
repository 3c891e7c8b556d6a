#include "cli/exact_desk.h"

#include <chrono>

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

Result<ExactAnswers> read(const Result<std::string>& body) {
  if (!body) return body.error();
  return read_answers(*body);
}

}  // namespace

Result<ExactAnswers> ExactDesk::ask_running(Json request, int patience_ms) {
  if (control_) request["cache_prompt"] = false;
  gate_.enter();
  if (patience_ms > 0) {
    const auto until = SteadyClock::now() + std::chrono::milliseconds(patience_ms);
    (void)servers_.ask(Side::kRunning, request,
                       [=] { return NotedSignals::any() || SteadyClock::now() > until; });
  }
  const auto body = servers_.ask(Side::kRunning, request, &NotedSignals::any);
  gate_.leave();
  return read(body);
}

Result<ExactAnswers> ExactDesk::ask_cold(Json request) {
  request["cache_prompt"] = false;
  cold_room_.acquire();
  const auto body = servers_.ask(Side::kCold, request, &NotedSignals::any);
  cold_room_.release();
  return read(body);
}

Result<void> ExactDesk::restart() {
  gate_.close();
  auto again = servers_.restart();
  gate_.open();
  return again;
}

}  // namespace holdfast::cli
