#include "engine/llama/llama_planes.h"

#include <llama-context.h>

namespace holdfast {

// The library reads n_rs_seq where it makes the memory, which has a copy of it, and where it
// makes the graph of a batch, which is what this changes. There is no call for that; the object
// itself is not const.
void set_planes(llama_context* context, TokenPos depth) {
  const_cast<llama_cparams&>(context->get_cparams()).n_rs_seq = static_cast<std::uint32_t>(depth);
}

}  // namespace holdfast
