#include "engine/ladder.h"

#include <algorithm>

namespace holdfast::engine {

namespace {

bool same_engine(const EngineSetting& a, const EngineSetting& b) {
  return a.cpu_variant == b.cpu_variant && a.extra_buffers == b.extra_buffers;
}

}  // namespace

std::vector<Rung> rungs_from(const EngineSetting& asked, std::span<const std::string> others) {
  std::vector<Rung> rungs{{asked, ""}};
  const auto add = [&](EngineSetting setting, std::string words) {
    const bool there =
        std::ranges::any_of(rungs, [&](const Rung& rung) { return rung.setting == setting; });
    if (!there) rungs.push_back({std::move(setting), std::move(words)});
  };
  EngineSetting plain = asked;
  plain.extra_buffers = false;
  add(plain, "without extra buffer types");
  for (const std::string& variant : others) {
    EngineSetting other = asked;
    other.cpu_variant = variant;
    add(other, "with the CPU variant " + variant);
  }
  EngineSetting alone = asked;
  alone.together = false;
  add(alone, "with slots decoded one by one");
  EngineSetting undrafted = asked;
  undrafted.drafts = false;
  add(undrafted, "without drafts");
  undrafted.together = false;
  add(undrafted, "without drafts and with slots decoded one by one");
  return rungs;
}

std::string fault_in_words(const ConformanceReport& report) {
  const CheckedKind* failure = report.first_failure();
  return failure == nullptr ? "" : failure->name + ": " + failure->finding;
}

Result<Climb> climb(const std::vector<Rung>& rungs, const TryRung& attempt, const OnFall& on_fall) {
  ConformanceReport as_asked;
  std::string fault;
  std::string latest;
  for (const Rung& rung : rungs) {
    const bool first = &rung == &rungs.front();
    const EngineSetting& setting = rung.setting;
    const bool helps = !same_engine(setting, rungs.front().setting) ||
                       as_asked.passed_with(setting.together, setting.drafts);
    if (!first && !helps) continue;
    if (!first && on_fall) on_fall(latest, rung);
    auto report = attempt(setting);
    if (!report && first) return report.error();
    latest = report ? fault_in_words(*report) : report.error().message;
    if (report && report->passed()) return Climb{rung, std::move(*report), std::move(fault)};
    if (!first) continue;
    as_asked = std::move(*report);
    fault = latest;
  }
  return Error{ErrorCode::kEngine,
               "The engine does not compute what it should on this machine, whatever is given up ("
               "found in " +
                   fault +
                   "). Nothing is served. `holdfast doctor` has the details; "
                   "--check-engine off serves all the same, with wrong answers.",
               ""};
}

}  // namespace holdfast::engine
