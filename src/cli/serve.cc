#include "cli/serve.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "api/api_server.h"
#include "cli/build_name.h"
#include "cli/engine_settings.h"
#include "cli/folder_budget.h"
#include "cli/reloads.h"
#include "cli/served_model.h"
#include "cli/server_recording.h"
#include "cli/server_settings.h"
#include "cli/stop_deadline.h"
#include "cli/stop_signals.h"
#include "cli/watchdog.h"
#include "env/crash_report.h"
#include "env/escaped_text.h"
#include "env/log.h"
#include "tier/quota_files.h"
#include "tier/real_files.h"

namespace holdfast::cli {
namespace {

// While a model loads the engine's complaints become part of our own error.
std::atomic<bool> model_is_loading{true};

void route_library_log() {
  llama::set_llama_log([](int level, const std::string& line) {
    if (level >= 3 && !model_is_loading) {
      env::Log::warn("engine: " + line);
    } else {
      env::Log::debug("engine: " + line);
    }
  });
}

// What a server needs of the world besides its model.
struct ServerParts {
  std::unique_ptr<api::ApiServer> api;
  std::shared_ptr<tier::FileSystem> slot_files;  // null: slots are not saved
  std::unique_ptr<ServerRecording> recording;    // null: nothing is recorded
};

// A line that nobody may take, where standard error is a pipe that is not read: it is waited for,
// but not for long.
void log_aside(std::function<void()> say) {
  auto said = std::make_shared<std::promise<void>>();
  std::future<void> done = said->get_future();
  std::thread([said, say = std::move(say)] {
    say();
    said->set_value();
  }).detach();
  static_cast<void>(done.wait_for(std::chrono::seconds(1)));
}

// The cache folder is whole after any end.
[[noreturn]] void end_now(const std::optional<serve::PulseReading>& pulse) {
  log_aside([pulse] {
    env::Log::error(
        "the server did not stop in time and ends now; what was written to disk is whole",
        {{"scheduler", pulse ? pulse->in_words() : "not started"},
         {"request", pulse ? pulse->request : ""}});
  });
  std::_Exit(1);
}

// One line about how things stand, for SIGUSR1. `scheduler`: null while the model loads.
void log_status(const serve::Scheduler* scheduler, const api::ApiServer& api) {
  if (scheduler == nullptr) return env::Log::info("status: the model is loading");
  const serve::SchedulerStatus status = scheduler->status();
  const auto busy = std::ranges::count(status.slots, true, &serve::SlotStatus::busy);
  env::Log::info("status", {{"slots_busy", busy},
                            {"slots", status.slots.size()},
                            {"waiting", status.queued},
                            {"connections", api.connection_count()},
                            {"requests", status.requests}});
}

// For what was cut short: a step of the engine cannot be.
constexpr std::chrono::seconds kAfterCut{20};

// Loads the model beside the running API, serves it, and ends in order.
class Server {
 public:
  Server(const ServeOptions& options, ServerParts parts)
      : options_(options), parts_(std::move(parts)) {
    if (!options_.log.file.empty())
      reloads_.add("the log file", [] { return env::Log::logger().reopen(); });
    if (!options_.server.ssl_cert_file.empty())
      reloads_.add("the TLS certificate", [this] { return parts_.api->reload_certificate(); });
    if (!options_.server.api_key_file.empty())
      reloads_.add("the API keys", [this] { return parts_.api->reload_keys(); });
  }

  // Ends by itself only when the model cannot be loaded, or turns out to be wrong.
  int run() {
    parts_.api->start();
    watchdog_.start();
    std::thread loader([this] { load(); });
    const StopCause cause = wait_for_stop(signal_actions_);
    stopping_ = true;
    deadline_.emplace(stop_plan());  // first: a line of the log may have nobody to take it
    if (cause == StopCause::kAsked)
      env::Log::info("finishing what is being answered; once more to cut it short");
    std::thread impatience([this] { abort_when_asked_again(); });
    loader.join();
    shut_down();
    ended_ = true;
    end_wait(impatience);
    impatience.join();
    deadline_->done();
    return failed_ ? 1 : 0;
  }

 private:
  // On a thread of its own.
  void load() {
    const auto began = std::chrono::steady_clock::now();
    env::note_for_crash(env::CrashFact::kModel, engine_config(options_).model_path);
    env::note_for_crash(env::CrashFact::kDoing, "loading the model");
    env::ProgressLine bar(env::Log::logger(), "loading " + model_file_name());
    auto loaded = load_checked_model(options_, check_extent(options_),
                                     CheckMemory(options_.reuse.dir), [&](float share) {
                                       parts_.api->backend().set_progress(share);
                                       bar.update(share);
                                       return !stopping_.load();
                                     });
    if (!loaded) {
      bar.abandon();
      if (!stopping_) fail(loaded.error().message);
      return;
    }
    bar.finish();
    model_is_loading = false;
    serve_model(std::move(*loaded), began);
  }

  [[nodiscard]] std::string model_file_name() const {
    return std::filesystem::path(engine_config(options_).model_path).filename().string();
  }

  void fail(const std::string& why) {
    env::Log::error(why);
    end_as_failed();
  }

  void end_as_failed() {
    failed_ = true;
    stop_by_itself();
  }

  void serve_model(CheckedModel checked, std::chrono::steady_clock::time_point began) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    served_.emplace(options_, std::move(checked), [this] { end_as_failed(); });
    served_->start(parts_.recording ? &parts_.recording->journal() : nullptr);
    running_ = &served_->scheduler();
    if (abort_) served_->scheduler().request_stop(serve::StopMode::kAbort);
    parts_.api->backend().set(served_->backend(parts_.slot_files));
    served_->announce(taken.count());
    env::Log::info("ready at " + addresses_of(options_.server, parts_.api->port()) +
                   "  (OpenAI clients: add /v1; Ctrl-C to stop)");
  }

  // Finishes running requests, unless a second signal aborts them.
  void shut_down() {
    parts_.api->drain();
    if (served_) served_->stop([this] { return abort_.load(); });
    if (parts_.recording) parts_.recording->finish();
    let_answers_leave();
    parts_.api->stop();
    env::Log::info("stopped");
  }

  // The last events have been handed over, not yet sent. A drained connection
  // closes itself once its answer is out; a client that does not read is not
  // waited for longer than this.
  void let_answers_leave() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (parts_.api->connection_count() > 0 && !abort_ &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  // On a thread of its own: the second signal aborts the answers, the third everything.
  void abort_when_asked_again() {
    static_cast<void>(wait_for_stop(signal_actions_));
    if (ended_) return;
    cut_short();
    deadline_->hurry();
    static_cast<void>(wait_for_stop(signal_actions_));
    if (!ended_) std::_Exit(130);
  }

  void cut_short() {
    log_aside([] { env::Log::info("cutting the answers under way"); });
    abort_ = true;
    if (serve::Scheduler* scheduler = running_) scheduler->request_stop(serve::StopMode::kAbort);
  }

  StopDeadline::Plan stop_plan() {
    return {std::chrono::seconds(options_.server.stop_timeout_s), kAfterCut,
            [this] { cut_short(); }, [this] { end_now(look()); }};
  }

  [[nodiscard]] std::optional<serve::PulseReading> look() const {
    serve::Scheduler* const scheduler = running_;
    if (scheduler == nullptr) return std::nullopt;
    return scheduler->pulse();
  }

  const ServeOptions& options_;
  ServerParts parts_;
  Reloads reloads_;
  const SignalActions signal_actions_{.reload = [this] { reloads_.run(); },
                                      .status = [this] { log_status(running_, *parts_.api); }};
  std::optional<ServedModel> served_;  // the loader's, until it has been joined
  std::atomic<serve::Scheduler*> running_{nullptr};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> abort_{false};
  std::atomic<bool> ended_{false};
  std::optional<StopDeadline> deadline_;  // once it is told to stop
  Watchdog watchdog_{[this] { return look(); }};
};

Result<ServerParts> open_parts(const ServeOptions& options) {
  ServerParts parts;
  auto api = api::ApiServer::listen(api_options(options));
  if (!api) return api.error();
  parts.api = std::move(*api);
  if (!options.reuse.slot_save_path.empty()) {
    auto opened =
        tier::RealFiles::open(options.reuse.slot_save_path, tier::RealFiles::Missing::kCreate);
    if (!opened)
      return Error{opened.error().code, "--slot-save-path: " + opened.error().message, {}};
    parts.slot_files =
        tier::with_quota(std::move(*opened),
                         folder_budget(options.reuse.slot_save_path, options.reuse.slot_save_mib));
  }
  auto recording = ServerRecording::open(options, build_name());
  if (!recording)
    return Error{recording.error().code, "--record: " + recording.error().message, {}};
  parts.recording = std::move(*recording);
  return parts;
}

}  // namespace

int run_server(const Parsed& parsed) {
  const ServeOptions& options = parsed.options;
  if (auto log = env::Log::configure(
          {.level = options.log.level, .format = options.log.format, .file = options.log.file});
      !log) {
    std::fprintf(stderr, "%s\n", env::escaped_line(log.error().message).c_str());
    return 1;
  }
  for (const std::string& note : parsed.notes) env::Log::warn(note);
  if (const std::string note = too_many_threads(options.compute); !note.empty())
    env::Log::warn(note);
  take_over_signals();
  route_library_log();
  auto parts = open_parts(options);
  if (!parts) {
    env::Log::error(parts.error().message);
    return 1;
  }
  return Server(options, std::move(*parts)).run();
}

}  // namespace holdfast::cli
