// Backends: which of the engine's libraries compute, and which of them are believed.
//
// The prebuilt engine comes with one library for each generation of processors (a variant:
// haswell, zen4, ...) and one for each kind of GPU. They are loaded by name, from the folder of
// libllama and nowhere else. Of the variants that can run here the best one is taken, unless it is
// known to answer wrongly: llama_backends.cc has the table, with the reason of each.
//
// A variant can be changed while no model is loaded. The code of the one before stays in
// memory: threads of its pools may still be on their way out.
//
// An engine that was built with its processor code linked in (ENGINE=source) has one variant,
// "built-in".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::llama {

inline constexpr std::string_view kBuiltInVariant = "built-in";

struct CpuVariant {
  std::string name;  // "zen4"
  std::string path;
  int score = 0;         // as the library says; 0: this processor cannot run it
  std::string distrust;  // why it is not taken unasked; empty: it is trusted

  [[nodiscard]] bool runs() const { return score > 0; }
};

// All that there are, the best first: runnable before others, trusted before distrusted, then
// by score.
[[nodiscard]] std::vector<CpuVariant> cpu_variants();

// Loads GPU backends, once, and this variant; empty: the first of cpu_variants(). An Error
// names the variants that there are.
// REQUIRES: where another variant is in use, no model is loaded.
[[nodiscard]] Result<void> use_cpu_variant(const std::string& name);

// The one in use; empty before use_cpu_variant().
[[nodiscard]] std::string cpu_variant_in_use();

// A processor or card that can compute.
struct EngineDevice {
  std::string name;         // "CUDA0"
  std::string description;  // "NVIDIA H200"
  std::string kind;         // "cpu", "gpu", "igpu", "accelerator"
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};
// REQUIRES: use_cpu_variant() was called.
[[nodiscard]] std::vector<EngineDevice> engine_devices();

// The folder that libllama lies in.
[[nodiscard]] std::string engine_folder();

}  // namespace holdfast::llama
