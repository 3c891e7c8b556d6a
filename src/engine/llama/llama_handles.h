// Owning handles for the library's objects.
#pragma once

#include <llama.h>

#include <memory>

namespace holdfast::llama {

struct LlamaModelFree {
  void operator()(llama_model* model) const { llama_model_free(model); }
};
struct LlamaContextFree {
  void operator()(llama_context* context) const { llama_free(context); }
};

using LlamaModelPtr = std::unique_ptr<llama_model, LlamaModelFree>;
using LlamaContextPtr = std::unique_ptr<llama_context, LlamaContextFree>;

}  // namespace holdfast::llama
