#include "cli/serve.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <thread>

#include "api/api_server.h"
#include "base/free_memory.h"
#include "base/shared.h"
#include "cache/fingerprint.h"
#include "cache/room_for.h"
#include "cli/checked_model.h"
#include "cli/engine_settings.h"
#include "cli/serve_log.h"
#include "cli/server_disk.h"
#include "cli/server_recording.h"
#include "cli/version.h"
#include "engine/llama/llama_config.h"
#include "env/log.h"
#include "tier/real_files.h"

namespace holdfast::cli {

namespace {

// --- options into settings ---------------------------------------------------

CheckExtent check_extent(const ServeOptions& options) {
  switch (options.compute.check_engine) {
    case CheckEngine::kOff: return CheckExtent::kOff;
    case CheckEngine::kAlways: return CheckExtent::kWhole;
    case CheckEngine::kOnce: break;
  }
  return CheckExtent::kShort;
}

api::ApiOptions api_options(const ServeOptions& options) {
  api::ApiOptions api;
  api.http.host = options.server.host;
  api.http.port = options.server.port;
  api.http.body_bytes_max = static_cast<std::uint64_t>(options.server.body_limit_mb) * 1024 * 1024;
  api.http.connections_max = static_cast<std::size_t>(options.server.connections_max);
  if (!options.server.ssl_cert_file.empty()) {
    api.http.tls = api::TlsFiles{options.server.ssl_cert_file, options.server.ssl_key_file};
  }
  api.api_keys = options.server.api_keys;
  api.cors_origins = options.server.cors_origins;
  return api;
}

api::ChatDefaults chat_defaults(const ServeOptions& options, const llama::LoadedModel& model) {
  api::ChatDefaults defaults;
  defaults.sampling = options.sampling;
  defaults.reasoning_format = options.chat.reasoning_format;
  defaults.template_kwargs = options.chat.template_kwargs;
  defaults.max_tokens = options.chat.predict;
  defaults.timeout = std::chrono::seconds(options.server.timeout_s);
  defaults.vocabulary = static_cast<Token>(model.text->card().vocabulary);
  if (model.companion != nullptr) defaults.companion = model.companion->name();
  defaults.draft.max = model.engine->decode_tokens_max() - 1;
  defaults.draft.min = options.drafts.min;
  defaults.draft.p_min = options.drafts.p_min;
  defaults.draft.adaptive = options.drafts.adaptive;
  return defaults;
}

// --- what is kept, and what it depends on --------------------------------------

ByteCount cache_budget(const ServeOptions& options) {
  constexpr ByteCount kMebibyte = 1 << 20;
  if (options.reuse.ram_mib == kCacheRamUnlimited) return std::numeric_limits<ByteCount>::max() / 2;
  if (options.reuse.ram_mib >= 0) return static_cast<ByteCount>(options.reuse.ram_mib) * kMebibyte;
  return free_memory().value_or(4096 * kMebibyte) / 4 / kMebibyte * kMebibyte;
}

std::string build_name() { return std::string("holdfast ") + HOLDFAST_VERSION; }

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

// --- signals -----------------------------------------------------------------

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);  // our own: the server has ended by itself
  return set;
}

// Blocked in every thread started later, so that only wait_for_signal sees them.
void block_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int wait_for_signal() {
  const sigset_t set = stop_signals();
  int number = 0;
  while (sigwait(&set, &number) != 0) {
  }
  return number;
}

// --- the server --------------------------------------------------------------

// Loads the model beside the running API, then serves it.
class Server {
 public:
  Server(const ServeOptions& options, std::unique_ptr<api::ApiServer> api,
         std::shared_ptr<tier::FileSystem> slot_files, std::unique_ptr<ServerRecording> recording)
      : options_(options),
        api_(std::move(api)),
        slot_files_(std::move(slot_files)),
        recording_(std::move(recording)) {}

  // Ends by itself only when the model cannot be loaded.
  int run() {
    api_->start();
    loader_ = std::thread([this] { load(); });
    const int first = wait_for_signal();
    stopping_ = true;
    if (first != SIGUSR1)
      env::Log::info("finishing what is being answered; once more to cut it short");
    std::thread impatience([this] { cut_at_next_signal(); });
    loader_.join();
    shut_down();
    ended_ = true;
    pthread_kill(impatience.native_handle(), SIGUSR1);
    impatience.join();
    return failed_ ? 1 : 0;
  }

 private:
  void load() {
    const llama::LlamaConfig config = engine_config(options_);
    const auto began = std::chrono::steady_clock::now();
    env::ProgressLine bar(
        env::Log::logger(),
        "loading " + std::filesystem::path(config.model_path).filename().string());
    const CheckMemory memory(options_.reuse.dir);
    auto loaded = load_checked_model(options_, check_extent(options_), memory, [&](float share) {
      api_->backend().set_progress(share);
      bar.update(share);
      return !stopping_.load();
    });
    if (!loaded) {
      bar.abandon();
      if (!stopping_) {
        env::Log::error(loaded.error().message);
        failed_ = true;
        kill(getpid(), SIGUSR1);
      }
      return;
    }
    bar.finish();
    model_is_loading = false;
    model_ = std::move(loaded->model);
    loaded->model = {};
    checked_ = std::move(*loaded);
    serve_model(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }

  void serve_model(double seconds) {
    serve::SchedulerOptions scheduling;
    scheduling.queue_max = static_cast<std::size_t>(options_.server.queue_max);
    scheduling.deterministic = options_.context.deterministic;
    scheduling.one_by_one = !checked_.standing.setting.together;
    scheduling.grid_step = grid_step(options_, model_.on_gpu);
    scheduling.pace.target_ms = options_.context.latency_target_ms;
    scheduling.pace.tokens_max = options_.context.batch_size;
    scheduling.synthetic_acceptance = options_.drafts.synthetic;
    scheduling.deterministic_draft = model_.engine->decode_tokens_max() - 1;
    scheduling.proofs.share = options_.reuse.prove;
    scheduling.proofs.exact = options_.context.deterministic && !model_.on_gpu;
    scheduling.cache.memory.budget = cache_budget(options_);
    scheduling.cache.checkpoint_every = options_.reuse.checkpoint_every;
    scheduling.cache.checkpoints = options_.reuse.checkpoints;
    scheduling.cache.slot_snapshots = options_.reuse.slot_snapshots;
    if (!checked_.digest_error.empty()) env::Log::warn(checked_.digest_error);
    // Some models encode positions in another way in contexts longer than their first ones.
    const bool stretched = model_.engine->context_tokens() > model_.text->card().context_original;
    fingerprint_ =
        fingerprint_of(options_, {checked_.digest.empty() ? "unknown" : checked_.digest,
                                  checked_.standing.setting, scheduling.grid_step, stretched});
    scheduling.cache.fingerprint = fingerprint_.hex();
    disk_ = ServerDisk::open(options_, model_.on_gpu, clock_);
    remember_check();
    standing_.set(checked_.standing);
    if (options_.compute.check_engine == CheckEngine::kOnce) {
      scheduling.check = checked_.how;
      scheduling.check->known = checked_.record.passed;
    }
    log_.on_engine_checked = [this](const engine::ConformanceReport& report) {
      go_on_checking(report);
    };
    if (disk_) {
      disk_->describe(model_.text->card().name, fingerprint_);
      scheduling.cache.names_foreign = disk_->holds_foreign();
      const auto vocabulary = static_cast<Token>(model_.text->card().vocabulary);
      if (cache::TokenHistory* const remembered = history()) {
        disk_->remember_answers(*remembered, vocabulary);
      }
    }
    scheduler_.emplace(
        *model_.engine, *model_.text, scheduling, clock_,
        serve::SchedulerParts{.observer = &log_,
                              .history = history(),
                              .companion = model_.companion.get(),
                              .lower = disk_ ? &disk_->tier() : nullptr,
                              .journal = recording_ ? &recording_->journal() : nullptr});
    room_ = cache::room_for(room_input(scheduling));
    if (disk_) disk_->tier().start();
    scheduler_->start();
    running_ = &*scheduler_;
    if (cut_) scheduler_->request_stop(serve::StopMode::kCut);
    api_->backend().set(make_backend());
    announce(seconds);
  }

  [[nodiscard]] cache::RoomInput room_input(const serve::SchedulerOptions& scheduling) const {
    cache::RoomInput input;
    input.shape = model_.engine->shape();
    if (model_.companion != nullptr) input.companion = model_.companion->shape();
    input.context = model_.engine->context_tokens();
    input.step = std::min(scheduling.grid_step, model_.engine->chunk_tokens_max());
    input.memory = scheduling.cache.memory.budget;
    if (disk_) input.disk = disk_->tier().status().budget;
    return input;
  }

  void remember_check() const {
    if (options_.compute.check_engine == CheckEngine::kOff || checked_.key.empty()) return;
    CheckMemory(options_.reuse.dir).remember(checked_.key, checked_.record);
  }

  // On the scheduler's thread. A fault that is found now may have been in answers already: the
  // server ends, and the next start knows what to give up.
  void go_on_checking(const engine::ConformanceReport& report) {
    checked_.note(report);
    remember_check();
    standing_.set(checked_.standing);
    if (report.passed()) {
      const bool done = checked_.standing.unchecked == 0;
      if (done) env::Log::info(engine::standing_in_words(checked_.standing));
      return;
    }
    env::Log::error(
        "engine check failed while idle (" + engine::fault_in_words(report) +
        "): answers so far may be wrong. The server stops; started again, it gives up what "
        "fails. `holdfast doctor` has the details");
    failed_ = true;
    kill(getpid(), SIGUSR1);
  }

  cache::TokenHistory* history() { return options_.reuse.token_history ? &history_ : nullptr; }

  std::shared_ptr<const api::Backend> make_backend() {
    auto backend = std::make_shared<api::Backend>();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    backend->text = model_.text;
    backend->scheduler = &*scheduler_;
    backend->space_of = [facts = fingerprint_](const std::string& tenant) {
      return facts.space(tenant);
    };
    backend->slot_files = slot_files_;
    backend->history = history();
    backend->shape = model_.engine->shape();
    backend->room = room_;
    backend->slots = model_.engine->slot_count();
    backend->context_tokens = model_.engine->context_tokens();
    backend->aliases = options_.model.aliases;
    backend->model_name =
        options_.model.aliases.empty() ? model_.text->card().name : options_.model.aliases.front();
    backend->build = build_name();
    backend->engine = [this] { return standing_.get(); };
    backend->loaded_at = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    backend->defaults = chat_defaults(options_, model_);
    if (options_.chat.reasoning != OnOffAuto::kAuto) {
      backend->enable_thinking = options_.chat.reasoning == OnOffAuto::kOn;
    }
    return backend;
  }

  void announce(double seconds) {
    const engine::ModelCard& card = model_.text->card();
    const StateShape& shape = model_.engine->shape();
    const int slots = model_.engine->slot_count();
    const TokenPos context = model_.engine->context_tokens();
    const ByteCount state =
        (shape.bytes_per_token() * static_cast<ByteCount>(context) + shape.bytes_per_snapshot()) *
        static_cast<ByteCount>(slots);
    env::Log::info("model " + card.name,
                   {{"architecture", card.architecture},
                    {"parameters", std::to_string(card.parameters / 1000000) + "M"},
                    {"type", card.file_type},
                    {"size", human_bytes(static_cast<ByteCount>(card.size_bytes))},
                    {"seconds", static_cast<double>(static_cast<int>(seconds * 100)) / 100}});
    const engine::EngineStanding standing = standing_.get();
    env::Log::info("engine " + standing.version, {{"cpu_variant", standing.setting.cpu_variant}});
    const std::string words = engine::standing_in_words(standing);
    standing.given_up.empty() ? env::Log::info(words) : env::Log::warn(words);
    env::Log::info("state: " + shape.describe());
    env::Log::info("slots", {{"count", slots},
                             {"context", context},
                             {"trained", card.context_train},
                             {"memory", human_bytes(state)}});
    const ByteCount budget = scheduler_->cache_commands().status().budget;
    env::Log::info(budget == 0 ? "cache: off, only slots are continued"
                               : "cache: up to " + human_bytes(budget) + " of memory for states");
    if (disk_) disk_->announce();
    if (const std::string room = cache::room_in_words(room_); !room.empty()) env::Log::info(room);
    for (const std::string& warning : cache::room_warnings(room_)) env::Log::warn(warning);
    if (!model_.companion_note.empty()) env::Log::warn(model_.companion_note);
    if (!options_.drafts.synthetic.empty()) {
      env::Log::warn("--spec-synth-rates: answers are meaningless, this is for benchmarks only");
    }
    if (model_.companion != nullptr) {
      env::Log::info("drafts: " + std::string(model_.companion->name()),
                     {{"most", model_.engine->decode_tokens_max() - 1}});
    }
    const bool tls = !options_.server.ssl_cert_file.empty();
    env::Log::info(std::string("ready at ") + (tls ? "https://" : "http://") +
                   options_.server.host + ":" + std::to_string(api_->port()) +
                   "  (OpenAI clients: add /v1; Ctrl-C to stop)");
  }

  // Finishes running requests, unless a second signal cuts them.
  void shut_down() {
    api_->drain();
    if (scheduler_) scheduler_->stop(serve::StopMode::kFinish);
    if (disk_) disk_->finish([this] { return cut_.load(); });
    if (recording_) recording_->finish();
    let_answers_leave();
    api_->stop();
    env::Log::info("stopped");
  }

  // The last events have been handed over, not yet sent. A drained connection
  // closes itself once its answer is out; a client that does not read is not
  // waited for longer than this.
  void let_answers_leave() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (api_->connection_count() > 0 && !cut_ && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  void cut_at_next_signal() {
    wait_for_signal();
    if (ended_) return;
    env::Log::info("cutting the answers under way");
    cut_ = true;
    if (serve::Scheduler* scheduler = running_) scheduler->request_stop(serve::StopMode::kCut);
    wait_for_signal();
    if (!ended_) std::_Exit(130);
  }

  const ServeOptions& options_;
  env::SteadyClock clock_;
  RequestLog log_;
  std::unique_ptr<api::ApiServer> api_;
  const std::shared_ptr<tier::FileSystem> slot_files_;
  const std::unique_ptr<ServerRecording> recording_;
  cache::TokenHistory history_;
  llama::LoadedModel model_;
  CheckedModel checked_;  // but for its model; the scheduler's thread, once that runs
  Shared<engine::EngineStanding> standing_;
  cache::Fingerprint fingerprint_;
  cache::RoomFor room_;
  std::unique_ptr<ServerDisk> disk_;
  std::optional<serve::Scheduler> scheduler_;  // the loader's, until it has been joined
  std::atomic<serve::Scheduler*> running_{nullptr};
  std::thread loader_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> cut_{false};
  std::atomic<bool> ended_{false};
};

}  // namespace

int run_server(const Parsed& parsed) {
  const ServeOptions& options = parsed.options;
  if (auto log = env::Log::configure(
          {.level = options.log.level, .format = options.log.format, .file = options.log.file});
      !log) {
    std::fprintf(stderr, "%s\n", log.error().message.c_str());
    return 1;
  }
  for (const std::string& note : parsed.notes) env::Log::warn(note);
  block_stop_signals();
  route_library_log();
  auto api = api::ApiServer::listen(api_options(options));
  if (!api) {
    env::Log::error(api.error().message);
    return 1;
  }
  std::shared_ptr<tier::FileSystem> slot_files;
  if (!options.reuse.slot_save_path.empty()) {
    auto opened =
        tier::RealFiles::open(options.reuse.slot_save_path, tier::RealFiles::Missing::kCreate);
    if (!opened) {
      env::Log::error("--slot-save-path: " + opened.error().message);
      return 1;
    }
    slot_files = std::move(*opened);
  }
  auto recording = ServerRecording::open(options, build_name());
  if (!recording) {
    env::Log::error("--record: " + recording.error().message);
    return 1;
  }
  return Server(options, std::move(*api), std::move(slot_files), std::move(*recording)).run();
}

}  // namespace holdfast::cli
