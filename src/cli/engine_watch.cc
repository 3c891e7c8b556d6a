#include "cli/engine_watch.h"

#include <utility>

#include "env/log.h"

namespace holdfast::cli {

EngineWatch::EngineWatch(const ServeOptions& options, CheckedModel checked,
                         std::function<void()> on_fault)
    : options_(options), checked_(std::move(checked)), on_fault_(std::move(on_fault)) {
  standing_.set(checked_.standing);
}

void EngineWatch::remember() const {
  if (options_.compute.check_engine == CheckEngine::kOff || checked_.key.empty()) return;
  CheckMemory(options_.reuse.dir).remember(checked_.key, checked_.record);
}

void EngineWatch::note(const engine::ConformanceReport& report) {
  checked_.note(report);
  remember();
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
  on_fault_();
}

}  // namespace holdfast::cli
