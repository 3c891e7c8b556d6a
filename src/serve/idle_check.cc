#include "serve/idle_check.h"

#include <algorithm>

namespace holdfast::serve {

IdleCheck::IdleCheck(engine::Engine& engine, cache::StateCache& cache,
                     std::optional<engine::ConformanceOptions> how)
    : engine_(engine), cache_(cache) {
  if (!how) return;
  how_ = std::move(*how);
  const auto all = engine::conformance_kinds(engine_, how_);
  left_ = static_cast<std::size_t>(std::ranges::count_if(
      all, [&](const std::string& name) { return !how_.known.contains(name); }));
}

std::optional<engine::ConformanceReport> IdleCheck::run(const std::function<bool()>& wanted) {
  for (int i = 0; i < engine_.slot_count(); ++i) {
    if (!cache_.live().can_spare(SlotId{i})) return std::nullopt;
  }
  for (int i = 0; i < engine_.slot_count(); ++i) {
    if (cache_.slots()[SlotId{i}].length() > 0) cache_.transfer().erase(SlotId{i});
  }
  bool interrupted = false;
  how_.wanted = [&] { return interrupted = interrupted || wanted(); };
  engine::ConformanceReport report = engine::check_conformance(engine_, how_);
  how_.wanted = nullptr;
  how_.known.merge(report.good());
  // What is left out although nobody came cannot be checked with this engine.
  left_ = report.passed() && interrupted ? report.count(engine::CheckVerdict::kLeftOut) : 0;
  return report;
}

}  // namespace holdfast::serve
