// GET /metrics: what the server and its cache have done, for Prometheus.
//
// Text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/
// llama-server's names (llamacpp:...) mean here what they mean there, so that its
// dashboards work; what it has no name for is holdfast_... Names of totals end in
// _total; times are in seconds, sizes in bytes. Always on.
#pragma once

#include <string>

#include "api/backend.h"
#include "api/http_server.h"
#include "cache/cache_status.h"
#include "serve/scheduler.h"

namespace holdfast::api {

[[nodiscard]] std::string metrics_text(const serve::SchedulerStatus& server,
                                       const cache::CacheStatus& cache,
                                       const engine::EngineStanding& engine = {});
[[nodiscard]] std::string active_session_metrics(std::size_t sessions);
[[nodiscard]] std::string answer_id_metrics(const cache::AnswerIds& ids);
[[nodiscard]] HttpResponse show_metrics(const Backend& backend);

}  // namespace holdfast::api
