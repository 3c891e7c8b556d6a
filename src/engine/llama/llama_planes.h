// Planes: how far a recurrent state can be taken back.
//
// A context that can take back D tokens has 1 + D planes of states, and plane i is the state i
// tokens ago. In the library every batch writes all planes, however few tokens it has: in each
// layer one more copy of the convolution's state for every plane, and the rest goes through a
// buffer that is copied out. In a step with one token, which has nothing to take back, that is a
// twentieth to an eighth of the time.
//
// So each batch is computed with the planes that it can use. Their number has to follow from the
// batch's size alone, because the library reuses the graph of an earlier batch of the same size.
#pragma once

#include <llama.h>

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "state/tokens.h"

namespace holdfast::llama {

// The context's next batches write planes for this many tokens. The library has no call for that,
// so one of its fields is written. llama_n_rs_seq(), which is compiled into the library, has to
// read the field's value before and after. An Error if it does not: then the headers that this file
// was compiled with are not the library's. REQUIRES: not more than the context was made with.
[[nodiscard]] Result<void> set_planes(llama_context* context, TokenPos depth);

// The same for any field and a function that reads it. Nothing is written if they disagree at
// first.
[[nodiscard]] Result<void> write_planes(std::uint32_t& field, std::uint32_t depth,
                                        const std::function<std::uint32_t()>& read);

}  // namespace holdfast::llama
