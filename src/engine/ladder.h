// Ladder: what is done about an engine that fails its check (conformance.h).
//
// The first rung is what was asked for. Each further rung gives something up, in this order: extra
// buffer types (weights repacked for special kernels), the CPU variant, several slots in one step,
// drafts, and both of the last two. The first rung that passes is used; if none does, the server
// does not serve.
//
// A rung that changes which batches are formed is tried only if the kinds that failed are not
// formed there.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/conformance.h"

namespace holdfast::engine {

// The settings in which rungs differ.
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

// All rungs, what was asked for first. `others` are the variants to try, the best first.
[[nodiscard]] std::vector<Rung> rungs_from(const EngineSetting& asked,
                                           std::span<const std::string> others);

struct Climb {
  Rung rung;                 // the one in use
  ConformanceReport report;  // of that rung
  std::string fault;         // what failed as asked, for people; empty: nothing
};

// Loads an engine with this setting and checks it.
using TryRung = std::function<Result<ConformanceReport>(const EngineSetting& setting)>;
// Told of each rung that failed, with what was found, and of the one that is tried next.
using OnFall = std::function<void(const std::string& fault, const Rung& next)>;

// After success, the engine that `attempt` made last is the one in use. An Error of the first
// attempt is returned as it is; an Error of a later one means that this rung does not pass.
// kEngine: no rung passes, and the message says what was found.
[[nodiscard]] Result<Climb> climb(const std::vector<Rung>& rungs, const TryRung& attempt,
                                  const OnFall& on_fall = nullptr);

// The first kind that failed, as "3 slots, 2 tokens each: ..."; empty: none did.
[[nodiscard]] std::string fault_in_words(const ConformanceReport& report);

}  // namespace holdfast::engine
