// Tiny random models of many architectures, for tests. No fixture is stored:
// a model is a pure function of (spec, seed), made in memory or written as a
// GGUF file.
//
//   layers      8. In hybrids R R A R R A R R (R recurrent, A attention): more
//               than one of each, and attention is not last, so that an error
//               in either kind of state reaches the logits through the other.
//               (falcon-h1: each layer is both. nemotron_h: R A F R F A F R.)
//   weights     F32, bounded, scaled to keep activations near 1. A token 100
//               back still moves the logits by tenths (in lfm2-swa, whose
//               attention is all windowed, little beyond 130 does).
//   vocabulary  one token per byte (the token's id is the byte), then the
//               TinyTokens. No merges, so text <-> tokens is one to one.
//   chat        a ChatML template and end of turn <|im_end|>, enough to put
//               an HTTP server in front of such a model.
//
// Greedy text is printable ASCII that favours a few letters, so that two runs
// are easy to compare by eye and a draft is accepted now and then.
//
// Every tensor is listed here and not asked from llama.cpp, so that each build
// of the library gets the same file, bit for bit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/llama/llama_handles.h"
#include "llama.h"

namespace holdfast::llama {

struct TinySpec {
  // One of tiny_architectures(), or bert, which gives vectors and no logits. A
  // llama.cpp architecture name, or a variant of one: llama-moe, lfm2-swa.
  std::string_view arch;
  // Adds one MTP block; the trunk keeps the weights it has without it.
  // Load the file with llama_model_params::load_mtp to get the block.
  bool mtp = false;
  // The embedding length, a multiple of 128; other sizes follow from it.
  // 128 is fast; 256 allows K-quants; 512 has the head and state sizes that
  // GPU kernels are written for.
  std::uint32_t width = 128;
};

// Ids beyond the 256 byte tokens. The think and tool tags are visible text
// (user-defined tokens); the others are control tokens.
enum TinyToken : llama_token {
  kTinyEndOfText = 256,  // <|endoftext|>
  kTinyImStart,          // <|im_start|>
  kTinyImEnd,            // <|im_end|>, ends a turn and generation
  kTinyThink,            // <think>
  kTinyEndThink,         // </think>
  kTinyToolCall,         // <tool_call>
  kTinyEndToolCall,      // </tool_call>
  kTinyPad,              // <|pad|>
  kTinyVocabSize,
};

inline constexpr std::uint32_t kTinyContextTrained = 8192;
inline constexpr std::uint32_t kTinySlidingWindow = 64;

// What TinySpec::arch may be.
[[nodiscard]] std::span<const std::string_view> tiny_architectures();

// Whether TinySpec::mtp may be set for `arch`.
[[nodiscard]] bool tiny_architecture_has_mtp(std::string_view arch);

// The model in memory, on the CPU.
// REQUIRES: a ggml backend is registered (llama_backends.h).
[[nodiscard]] Result<LlamaModelPtr> make_tiny_model(const TinySpec& spec, std::uint64_t seed);

// The same model as a GGUF file, which computes the same logits when loaded.
// Replaces `path` if it exists; a failed write may leave a partial file.
[[nodiscard]] Result<void> write_tiny_model(const TinySpec& spec, std::uint64_t seed,
                                            const std::filesystem::path& path);

}  // namespace holdfast::llama
