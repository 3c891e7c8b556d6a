#include "engine/llama/testing/tiny_sizes.h"

#include "engine/llama/testing/tiny_models.h"

namespace holdfast::llama::tiny {

Sizes tiny_sizes(std::uint32_t width) {
  return {.width = width,
          .inner = 2 * width,
          .vocabulary = static_cast<std::uint32_t>(kTinyVocabSize),
          .context = kTinyContextTrained,
          .heads = 4,
          .kv_heads = 2,
          .head = width / 4,
          .rotary = width / 8,
          .interval = 3,  // as in "RRARRARR"
          .window = kTinySlidingWindow,
          .key_heads = 2,
          .value_heads = 4,
          .delta_head = width / 4,
          .ssm_heads = 8,
          .ssm_inner = 2 * width,
          .ssm_state = width / 4,
          .ssm_groups = 2};
}

}  // namespace holdfast::llama::tiny
