// Ladder: what is done about an engine that fails its check (conformance.h).
//
// The first rung is what was asked for. Each further one gives something up, in this order: extra
// buffer types (weights repacked for special kernels), the CPU variant, several slots in one
// step, drafts, both of these. The first that passes is used; where none does, the server does not
// serve.
//
// Rungs that change how batches are formed are tried only where what failed is not formed there.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/conformance.h"

namespace holdfast::engine {

// What the rungs differ in.
struct EngineSetting {
  std::string cpu_variant;
  bool extra_buffers = true;
  bool together = true;  // several slots in one step
  bool drafts = true;

  bool operator==(const EngineSetting&) const = default;
};

struct Rung {
  EngineSetting setting;
  std::string words;  // "with the CPU variant haswell"; empty: as asked
};

// What was asked for first. `others` are the variants to try, the best first.
[[nodiscard]] std::vector<Rung> rungs_from(const EngineSetting& asked,
                                           std::span<const std::string> others);

struct Climb {
  Rung rung;                 // the one in use
  ConformanceReport report;  // of it
  std::string fault;         // what failed as asked, for people; empty: nothing
};

// Loads an engine with this setting and checks it.
using TryRung = std::function<Result<ConformanceReport>(const EngineSetting& setting)>;
// Told of each rung that failed, with what was found, and of the one that is tried next.
using OnFall = std::function<void(const std::string& fault, const Rung& next)>;

// After success the engine that `attempt` made last is the one of the answer. An Error of the
// first attempt is returned as it is; later ones are rungs that do not hold. kEngine: none holds,
// and the message says what was found.
[[nodiscard]] Result<Climb> climb(const std::vector<Rung>& rungs, const TryRung& attempt,
                                  const OnFall& on_fall = nullptr);

// "3 slots, 2 tokens each: ...", the first of what failed; empty: nothing did.
[[nodiscard]] std::string fault_in_words(const ConformanceReport& report);

}  // namespace holdfast::engine
