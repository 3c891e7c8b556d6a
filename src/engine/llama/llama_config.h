// How a model is loaded: the settings that shape its states and its speed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/companion.h"
#include "engine/embedder.h"
#include "engine/engine.h"
#include "engine/text.h"
#include "state/drafts.h"

namespace holdfast::llama {

enum class FlashAttention { kAuto, kOn, kOff };

// Which states are copied out while the engine computes on: those that lie on cards which can do
// that; all, for tests; none.
enum class LateCopying { kWhereItHelps, kAlways, kNever };

struct EmbeddingConfig {
  std::optional<engine::Pooling> pooling;  // nullopt: the model's own
};

struct LlamaConfig {
  std::string model_path;
  // What is opened for model_path, one name for each part of a split model; for example names of
  // files that are open already. Empty: the path itself.
  std::vector<std::string> model_names;
  // Tokens that one slot holds. 0: as many as the model was trained for, fewer if memory is short.
  TokenPos context_tokens = 0;
  int slots = 4;
  int threads = 0;        // 0: one per core
  int threads_batch = 0;  // 0: as threads
  // How long idle threads look for work before they sleep, 0 (not at all) to 100; the engine's
  // own measure.
  int poll = 50;
  TokenPos ubatch = 512;    // tokens computed at once; the largest chunk
  int gpu_layers = -1;      // -1: all that the devices take
  std::string cpu_variant;  // llama_backends.h; empty: the best that is trusted
  // Whether weights may be repacked for special kernels, AMX among them.
  bool extra_buffers = true;
  FlashAttention flash_attention = FlashAttention::kAuto;
  std::string cache_type_k = "f16";
  std::string cache_type_v = "f16";
  bool swa_full = false;
  LateCopying late_copying = LateCopying::kWhereItHelps;
  // MiB on each card for snapshots that are being copied out; -1: a tenth of what is free there, at
  // most 1 GiB.
  int cache_vram = -1;
  bool use_mmap = true;
  bool use_mlock = false;
  bool warm_up = true;
  DraftSource draft_source = DraftSource::kOff;
  std::string draft_model_path;
  std::vector<std::string> draft_model_names;  // as model_names
  int draft_gpu_layers = -1;
  // The longest draft that decode() takes beside the sampled token. 0: the companion's usual
  // length, or no drafts without a companion.
  TokenPos draft_tokens_max = 0;
  // How many tokens of a decode a recurrent state can take back, if the architecture can do that at
  // all. Each costs one state per slot. 0: as many as the companion drafts, as far as memory
  // allows.
  TokenPos rollback_depth = 0;
  // Load the model's MTP block and keep hidden rows for it.
  bool mtp = false;
  std::string split_mode = "layer";
  int main_gpu = 0;
  std::vector<float> tensor_split;
  std::vector<std::string> devices;  // empty: all
  // Where tensors lie: "PATTERN=BUFFER", a regular expression and a buffer type such as "CPU".
  std::vector<std::string> tensor_places;
  int cpu_expert_layers = 0;  // the first N layers keep their experts on the processor; -1: all do
  std::vector<std::string> metadata_overrides;  // "KEY=TYPE:VALUE"
  std::string rope_scaling;                     // empty: the model's own
  float rope_freq_base = 0.0F;
  float rope_freq_scale = 0.0F;
  float yarn_ext_factor = -1.0F;
  float yarn_attn_factor = -1.0F;
  float yarn_beta_fast = -1.0F;
  float yarn_beta_slow = -1.0F;
  int yarn_orig_ctx = 0;
  std::string chat_template;                 // empty: the model's own
  int grammar_limit = 1;                     // engine::GrammarLimits::factor
  std::optional<EmbeddingConfig> embedding;  // set: texts are embedded, and nothing is generated
};

struct LoadedModel {
  std::shared_ptr<const engine::TextModel> text;
  std::unique_ptr<engine::Engine> engine;  // where texts are embedded: one that computes nothing
  std::shared_ptr<engine::Embedder> embedder;    // null: text is generated
  std::unique_ptr<engine::Engine> draft_engine;  // the companion's own; null: it needs none
  std::unique_ptr<engine::Companion> companion;  // null: none
  std::string companion_note;                    // why there is none although one was asked for
  bool on_gpu = false;
};

// Share of the file read so far, 0..1. Return false to stop loading.
using LoadProgress = std::function<bool(float)>;

// Loads a GGUF file. The Error says what is wrong with the file or the settings.
[[nodiscard]] Result<LoadedModel> load_llama_model(const LlamaConfig& config,
                                                   const LoadProgress& progress);

// Takes over the library's log lines; `level` is 0 debug .. 3 error.
void set_llama_log(std::function<void(int level, const std::string& line)> sink);

// "b1234-0a1b2c3"
[[nodiscard]] std::string llama_build_name();
// "llama.cpp 0.5.0"
[[nodiscard]] std::string llama_library_version();
// The same with the processor features that it uses, for --version.
[[nodiscard]] std::string llama_library_info();

}  // namespace holdfast::llama
