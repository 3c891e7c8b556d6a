#include <algorithm>

#include "engine/conformance.h"

namespace holdfast::engine {

const char* check_verdict_name(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kPassed: return "passed";
    case CheckVerdict::kKnown: return "passed before";
    case CheckVerdict::kFailed: return "failed";
    case CheckVerdict::kLeftOut: return "left out";
  }
  return "";
}

std::size_t ConformanceReport::count(CheckVerdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(kinds, verdict, &CheckedKind::verdict));
}

const CheckedKind* ConformanceReport::first_failure() const {
  const auto found = std::ranges::find(kinds, CheckVerdict::kFailed, &CheckedKind::verdict);
  return found == kinds.end() ? nullptr : &*found;
}

bool ConformanceReport::passed() const { return first_failure() == nullptr; }
bool ConformanceReport::complete() const { return count(CheckVerdict::kLeftOut) == 0; }

bool ConformanceReport::passed_with(bool together, bool drafts) const {
  return std::ranges::none_of(kinds, [&](const CheckedKind& kind) {
    const bool formed = (together || !kind.together) && (drafts || !kind.drafted);
    return formed && kind.verdict == CheckVerdict::kFailed;
  });
}

std::set<std::string> ConformanceReport::good() const {
  std::set<std::string> names;
  for (const CheckedKind& kind : kinds) {
    const bool good = kind.verdict == CheckVerdict::kPassed || kind.verdict == CheckVerdict::kKnown;
    if (good) names.insert(kind.name);
  }
  return names;
}

}  // namespace holdfast::engine
