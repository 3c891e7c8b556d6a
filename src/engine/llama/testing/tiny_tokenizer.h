// The vocabulary and chat template that all tiny models share.
#pragma once

#include <cstdint>

#include "gguf.h"

namespace holdfast::llama::tiny {

// Sets the tokenizer.* keys: one token per byte, then the TinyTokens, then as many
// unused ones as make `vocabulary` of them.
// REQUIRES: vocabulary >= kTinyVocabSize.
void set_tokenizer(gguf_context* metadata, std::uint32_t vocabulary);

}  // namespace holdfast::llama::tiny
