// What the options of `holdfast serve` mean for the API and the scheduler.
// (For the engine: engine_settings.h.)
#pragma once

#include <chrono>
#include <string>

#include "api/api_server.h"
#include "cli/checked_model.h"
#include "cli/options.h"
#include "serve/scheduler.h"

namespace holdfast::cli {

[[nodiscard]] CheckExtent check_extent(const ServeOptions& options);
// "http://127.0.0.1:8080 and /run/holdfast.sock"
[[nodiscard]] std::string addresses_of(const ServerOptions& server, std::uint16_t port);
[[nodiscard]] api::ApiOptions api_options(const ServeOptions& options);
// How often a silent stream shows that it is alive.
[[nodiscard]] std::chrono::milliseconds ping_every(const ServerOptions& server);
[[nodiscard]] api::ChatDefaults chat_defaults(const ServeOptions& options,
                                              const llama::LoadedModel& model);

// All but what depends on the cache folder. `setting` is how the engine runs.
[[nodiscard]] serve::SchedulerOptions scheduler_options(const ServeOptions& options,
                                                        const llama::LoadedModel& model,
                                                        const engine::EngineSetting& setting);

}  // namespace holdfast::cli
