#include "cli/server_settings.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include "base/free_memory.h"
#include "cli/engine_settings.h"
#include "env/power.h"

namespace holdfast::cli {
namespace {

ByteCount cache_budget(std::int64_t ram_mib) {
  constexpr ByteCount kMebibyte = 1 << 20;
  if (ram_mib == kCacheRamUnlimited) return std::numeric_limits<ByteCount>::max() / 2;
  if (ram_mib >= 0) return static_cast<ByteCount>(ram_mib) * kMebibyte;
  return free_memory().value_or(4096 * kMebibyte) / 4 / kMebibyte * kMebibyte;
}

std::function<bool()> prewarm_rule(OnOffAuto prewarm) {
  switch (prewarm) {
    case OnOffAuto::kOn: return [] { return true; };
    case OnOffAuto::kOff: return nullptr;
    case OnOffAuto::kAuto: return [] { return !env::on_battery(); };
  }
  return nullptr;
}

}  // namespace

std::string addresses_of(const ServerOptions& server, std::uint16_t port) {
  const std::string scheme = server.ssl_cert_file.empty() ? "http://" : "https://";
  std::string all;
  for (const std::string& host : server.hosts) {
    const bool v6 = host.find(':') != std::string::npos;
    const std::string address =
        scheme + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port) + server.api_prefix;
    (all += all.empty() ? "" : " and ") += api::is_unix_socket(host) ? host : address;
  }
  return all;
}

CheckExtent check_extent(const ServeOptions& options) {
  switch (options.compute.check_engine) {
    case CheckEngine::kOff: return CheckExtent::kOff;
    case CheckEngine::kAlways: return CheckExtent::kWhole;
    case CheckEngine::kOnce: break;
  }
  return CheckExtent::kShort;
}

api::ApiOptions api_options(const ServeOptions& options) {
  const ServerOptions& server = options.server;
  api::ApiOptions api;
  api.http.hosts = server.hosts;
  api.http.path_prefix = server.api_prefix;
  api.http.port = server.port;
  api.http.body_bytes_max = static_cast<std::uint64_t>(server.body_limit_mb) * 1024 * 1024;
  api.http.connections_max = static_cast<std::size_t>(server.connections_max);
  if (!server.ssl_cert_file.empty()) {
    api.http.tls = api::TlsFiles{server.ssl_cert_file, server.ssl_key_file};
  }
  // A body of the largest size fits in what large ones may take (http_body_budget.h).
  api.http.bodies_bytes_max =
      std::max(static_cast<std::uint64_t>(server.bodies_limit_mb) * 1024 * 1024,
               2 * api.http.body_bytes_max);
  api.api_keys = server.api_keys;
  api.file_keys = server.file_keys;
  api.api_key_file = server.api_key_file;
  api.allowed_hosts = server.allowed_hosts;
  api.cors_origins = server.cors_origins;
  api.ui = server.ui;
  return api;
}

// Nobody waits for a day.
std::chrono::milliseconds ping_every(const ServerOptions& server) {
  return server.ping_s > 0 ? std::chrono::seconds(server.ping_s) : std::chrono::hours(24);
}

api::ChatDefaults chat_defaults(const ServeOptions& options, const llama::LoadedModel& model) {
  api::ChatDefaults defaults;
  defaults.sampling = options.sampling;
  defaults.reasoning_format = options.chat.reasoning_format;
  defaults.template_kwargs = options.chat.template_kwargs;
  defaults.max_tokens = options.chat.predict;
  defaults.verbose = options.log.level == env::LogLevel::kDebug;
  defaults.prefill_assistant = options.chat.prefill_assistant;
  defaults.timeout = std::chrono::seconds(options.server.timeout_s);
  defaults.vocabulary = static_cast<Token>(model.text->card().vocabulary);
  if (model.companion != nullptr) defaults.companion = model.companion->name();
  defaults.draft.max = model.engine->decode_tokens_max() - 1;
  defaults.draft.min = options.drafts.min;
  defaults.draft.p_min = options.drafts.p_min;
  defaults.draft.adaptive = options.drafts.adaptive;
  return defaults;
}

serve::SchedulerOptions scheduler_options(const ServeOptions& options,
                                          const llama::LoadedModel& model,
                                          const engine::EngineSetting& setting) {
  serve::SchedulerOptions scheduling;
  scheduling.queue_max = static_cast<std::size_t>(options.server.queue_max);
  scheduling.exact = options.context.exact;
  scheduling.one_by_one = !setting.together;
  scheduling.grid_step = grid_step(options, model.on_gpu);
  scheduling.pace.target_ms = options.context.latency_target_ms;
  scheduling.pace.tokens_max = options.context.batch_size;
  scheduling.synthetic_acceptance = options.drafts.synthetic;
  scheduling.deterministic_draft = model.engine->decode_tokens_max() - 1;
  scheduling.may_prewarm = prewarm_rule(options.reuse.prewarm);
  scheduling.proofs.share = options.reuse.prove;
  scheduling.proofs.exact = prompts_are_exact(options.context.exact) && !model.on_gpu;
  scheduling.cache.memory.budget = cache_budget(options.reuse.ram_mib);
  scheduling.cache.checkpoint_every = options.reuse.checkpoint_every;
  scheduling.cache.checkpoints = options.reuse.checkpoints;
  scheduling.cache.slot_snapshots = options.reuse.slot_snapshots;
  return scheduling;
}

}  // namespace holdfast::cli
