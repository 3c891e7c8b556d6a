// Which companion a model gets, and making it. Part of the loader (llama_loader.cc).
#pragma once

#include <memory>
#include <string>

#include "engine/companion.h"
#include "engine/llama/llama_config.h"
#include "engine/llama/llama_engine.h"

namespace holdfast::llama {

// Loads the file's weights. The Error says what is wrong with it.
[[nodiscard]] Result<std::shared_ptr<llama_model>> load_llama_file(const LlamaConfig& config,
                                                                   const LoadProgress& progress);

// Which companion config.draft_source means for this model; never kAuto. An Error names the option
// that asks for something impossible.
[[nodiscard]] Result<DraftSource> companion_for(const LlamaConfig& config,
                                                const llama_model* model);

// The settings for a primary with this companion, if `free` bytes of memory are free.
[[nodiscard]] LlamaConfig with_companion(LlamaConfig config, DraftSource source,
                                         const StateShape& shape, ByteCount free);

// Fills in loaded.companion. If there is not enough memory for one, the model runs without, and
// loaded.companion_note says so.
[[nodiscard]] Result<void> add_companion(LoadedModel& loaded, DraftSource source,
                                         std::shared_ptr<llama_model> model, LlamaEngine& primary,
                                         const LlamaConfig& config);

}  // namespace holdfast::llama
