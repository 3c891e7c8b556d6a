// The vocabulary and chat template that all tiny models share.
#pragma once

#include "gguf.h"

namespace holdfast::llama_engine::tiny {

// Sets the tokenizer.* keys: one token per byte, then the TinyTokens.
void set_tokenizer(gguf_context* metadata);

}  // namespace holdfast::llama_engine::tiny
