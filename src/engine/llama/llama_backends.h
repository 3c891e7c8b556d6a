// Backends: which of the engine's libraries are loaded, and which of them are trusted.
//
// The prebuilt engine comes with one library for each generation of processors (a variant:
// haswell, zen4, ...) and one for each kind of GPU. They are loaded by name, from the folder of
// libllama and nowhere else. The best of the variants that run on this processor is taken, unless
// it is known to compute wrongly: llama_backends.cc has a table of those, with reasons.
//
// The variant can be changed while no model is loaded. The code of the previous one stays in
// memory, because threads of its pools may still be running.
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
  std::string distrust;  // why it is used only if named; empty: it is trusted

  [[nodiscard]] bool runs() const { return score > 0; }
};

// All variants, the best first: those that run here before others, trusted before distrusted ones,
// then by score.
[[nodiscard]] std::vector<CpuVariant> cpu_variants();

// Loads the GPU backends, once, and this variant; an empty name stands for the first of
// cpu_variants(). An Error names the variants that there are.
// REQUIRES: if another variant is in use, no model is loaded.
[[nodiscard]] Result<void> use_cpu_variant(const std::string& name);

// The variant in use; empty before use_cpu_variant().
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
