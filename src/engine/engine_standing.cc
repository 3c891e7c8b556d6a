#include "engine/engine_standing.h"

#include <cstdio>

namespace holdfast::engine {

std::string standing_in_words(const EngineStanding& standing) {
  if (standing.check == "off") return "engine check: off, this engine is believed as it is";
  std::string line = "engine check: ";
  if (!standing.given_up.empty()) {
    line += "as it is, this engine answers wrongly here (" + standing.fault + "); serving " +
            standing.given_up + "; that ";
  }
  const std::size_t checked = standing.kinds - standing.unchecked;
  line += standing.check + ": " + std::to_string(checked) + " of " +
          std::to_string(standing.kinds) + " kinds of batch";
  if (standing.check_ms > 0.0) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, " in %.2f s", standing.check_ms / 1000.0);
    line += seconds;
  }
  if (standing.unchecked > 0) {
    line += "; the rest follows while nobody waits";
  }
  return line;
}

}  // namespace holdfast::engine
