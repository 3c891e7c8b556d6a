#include "engine/llama/ranking_head.h"

#include <llama-model.h>

#include <cstdint>
#include <string_view>

namespace holdfast::llama {

bool has_ranking_head(const llama_model* model) {
  // Of one layer or of two; where there are two, this is the second.
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : llama_internal_get_tensor_map(model)) {
    if (name == "cls.output.weight") return tensor->ne[1] == llama_model_n_cls_out(model);
    if (name == "cls.weight") numbers = tensor->ne[1];
  }
  return numbers == llama_model_n_cls_out(model);
}

}  // namespace holdfast::llama
