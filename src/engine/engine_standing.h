// How the engine in use stands after its check, for /props, /metrics, the log and the doctor.
#pragma once

#include <cstddef>
#include <string>

#include "engine/ladder.h"

namespace holdfast::engine {

struct EngineStanding {
  EngineSetting setting;      // in use
  std::string given_up;       // as Rung::words; empty: it runs as asked
  std::string fault;          // why
  std::string check = "off";  // "passed", "passed before", "passed in part", "failed", "off"
  std::size_t kinds = 0;      // how many kinds of batch are formed
  std::size_t unchecked = 0;  // how many of them were never checked
  double check_ms = 0.0;      // how long the check took this time
  std::string version;        // of the library
};

// One line for the log.
[[nodiscard]] std::string standing_in_words(const EngineStanding& standing);

}  // namespace holdfast::engine
