// Whether a model was made for ranking.
#pragma once

#include <llama.h>

namespace holdfast::llama {

// A model without such a head has no scores: the library takes the first number of a pooled vector
// for one. Of several texts in a batch it takes the number in the text's own place of the first
// text's vector, so these must be read one by one.
[[nodiscard]] bool has_ranking_head(const llama_model* model);

}  // namespace holdfast::llama
