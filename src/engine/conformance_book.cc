#include "engine/conformance_book.h"

#include <chrono>
#include <utility>

namespace holdfast::engine {

KindBook::KindBook(EngineProbe& probe, const ConformanceOptions& options, CheckMode mode)
    : probe_(probe), options_(options), mode_(mode), began_ms_(now_ms()) {}

double KindBook::now_ms() const {
  if (options_.now_ms) return options_.now_ms();
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

// The first kind, and those that must be checked, are never late; nor is what those are compared
// with.
bool KindBook::is_late(const CheckedKind& kind, bool basis, double steps) const {
  const bool first = report_.kinds.size() == 1;
  const bool asked =
      first || options_.must.contains(kind.name) || (basis && !options_.must.empty());
  return !asked && now_ms() - began_ms_ + steps * step_ms_ > options_.ms_max;
}

void KindBook::add(std::string name, Formed formed, double steps,
                   const std::function<Outcome()>& check) {
  CheckedKind& kind = report_.kinds.emplace_back();
  kind.name = std::move(name);
  kind.together = formed == Formed::kTogether || formed == Formed::kBoth;
  kind.drafted = formed == Formed::kDrafted || formed == Formed::kBoth;
  const bool basis = formed == Formed::kBasis;
  if (!basis && options_.known.contains(kind.name)) {
    kind.verdict = CheckVerdict::kKnown;
    return;
  }
  const bool late = is_late(kind, basis, steps);
  if (late && basis) over_ = true;
  if (lists() || over_ || probe_.interrupted() || late) return;
  compute(kind, check);
}

void KindBook::compute(CheckedKind& kind, const std::function<Outcome()>& check) {
  const double before = now_ms();
  (void)probe_.take_steps();
  Outcome outcome = check();
  const double steps = probe_.take_steps();
  if (steps > 0.0) step_ms_ = (now_ms() - before) / steps;
  if (probe_.interrupted()) return;  // it stays left out
  kind.distance = outcome.distance;
  kind.allowed = outcome.allowed;
  kind.finding = std::move(outcome.finding);
  kind.verdict = kind.finding.empty() ? CheckVerdict::kPassed : CheckVerdict::kFailed;
}

ConformanceReport KindBook::close() {
  report_.ms = now_ms() - began_ms_;
  return std::move(report_);
}

std::string counted(int count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace holdfast::engine
