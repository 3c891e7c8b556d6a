#include "serve/scheduler.h"

#include <memory>
#include <utility>

#include "base/check.h"
#include "env/crash_report.h"

namespace holdfast::serve {

Scheduler::Scheduler(engine::Engine& engine, const engine::TextModel& text,
                     SchedulerOptions options, const env::Clock& clock, SchedulerParts parts)
    : core_(engine, text, std::move(options), clock, parts),
      inbox_(core_.options.queue_max),
      loop_(core_, inbox_, parts),
      preparer_(core_.grid, core_.options.has_exact_prompts(), core_.cache.cold()),
      lower_(parts.lower) {
  if (lower_ != nullptr) lower_->on.news = [this] { inbox_.wake(); };
  core_.publish();
}

Scheduler::~Scheduler() {
  stop(StopMode::kAbort);
  if (lower_ != nullptr) lower_->stop();  // it calls back
}

void Scheduler::prepare(GenerateRequest& request) const {
  request.prepared = preparer_.prepare(request.prompt, request.space, request.reuse);
}

Result<void> Scheduler::submit(GenerateRequest request) {
  CHECK(request.sink != nullptr && request.sampler != nullptr);
  const TokenPos context = core_.engine.context_tokens();
  const int slots = core_.engine.slot_count();
  if (request.prompt.empty()) return invalid_argument("prompt", "The prompt holds no token.");
  if (length_of(request.prompt) >= context) {
    return Error{ErrorCode::kContextExceeded,
                 "The prompt has " + std::to_string(request.prompt.size()) +
                     " tokens. With one for the answer, it exceeds the available context size (" +
                     std::to_string(context) +
                     " tokens). Send less, or start the server with a larger --ctx-size.",
                 request.prompt_field};
  }
  if (request.slot && (request.slot->value < 0 || request.slot->value >= slots)) {
    return invalid_argument("id_slot",
                            "'id_slot' is between 0 and " + std::to_string(slots - 1) + ".");
  }
  if (!request.prepared) prepare(request);
  return inbox_.submit(std::make_unique<Job>(std::move(request), core_.clock.now()));
}

void Scheduler::cancel(const std::string& request_id) { inbox_.cancel(request_id); }

void Scheduler::note_tool_call(const std::string& request_id) {
  // Once the server stops, nobody comes back.
  (void)inbox_.post([this, request_id] { loop_.ends().note_tool_call(request_id); });
}

void Scheduler::offer_prewarm(PrewarmOffer offer) {
  const auto shared = std::make_shared<PrewarmOffer>(std::move(offer));
  (void)inbox_.post([this, shared] { loop_.idle_work().prewarmer().offer(std::move(*shared)); });
}

void Scheduler::prewarm(PrewarmPrompt prompt) {
  const auto shared = std::make_shared<PrewarmPrompt>(std::move(prompt));
  (void)inbox_.post([this, shared] { loop_.idle_work().prewarmer().take(std::move(*shared)); });
}

SchedulerStatus Scheduler::status() const {
  SchedulerStatus now = core_.board.status();
  const Inbox::Standing standing = inbox_.standing();
  now.queued = standing.waiting;
  now.stopping = standing.stopping;
  return now;
}

void Scheduler::start() {
  CHECK(!thread_.joinable());
  thread_ = std::thread([this] {
    const env::CrashStack stack;
    loop_.run();
  });
}

void Scheduler::stop(StopMode mode) {
  request_stop(mode);
  if (thread_.joinable()) thread_.join();
}

}  // namespace holdfast::serve
