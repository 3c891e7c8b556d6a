// CheckedModel: a model on an engine that was checked on this machine before it is believed.
//
// The model is loaded as asked and kinds of batch are checked (engine/conformance.h), as many as
// there is time for; the rest follows while the server is idle (serve/idle_check.h). Where one
// fails, the model is loaded again on the next rung of the ladder (engine/ladder.h). What was found
// is remembered (check_memory.h): the next start begins on the rung that held.
#pragma once

#include <optional>
#include <string>

#include "cli/check_memory.h"
#include "cli/options.h"
#include "engine/engine_standing.h"
#include "engine/ladder.h"
#include "engine/llama/llama_config.h"

namespace holdfast::cli {

struct CheckedModel {
  llama::LoadedModel model;
  engine::EngineStanding standing;
  engine::ConformanceReport report;  // of now
  // All that is left to check is checked with this; not before serving.
  engine::ConformanceOptions how;
  std::string digest;        // of the files that were loaded; empty: they could not be read
  std::string digest_error;  // then
  std::string key;           // of the record; empty: nothing is to be remembered
  CheckRecord record;        // to be remembered, once the cache folder is there
  double load_seconds = 0.0;

  // More was checked with the setting in use: changes standing and record.
  void note(const engine::ConformanceReport& found);
};

enum class CheckExtent {
  kOff,    // believe the engine
  kShort,  // what passed before is not checked again, and a start takes little longer
  kWhole,  // everything, however long it takes
};

// The log says what is found. An Error says why the model is not served.
[[nodiscard]] Result<CheckedModel> load_checked_model(const ServeOptions& options,
                                                      CheckExtent extent, const CheckMemory& memory,
                                                      const llama::LoadProgress& progress);

}  // namespace holdfast::cli
