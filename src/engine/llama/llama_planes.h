// Planes: how far a recurrent state can be taken back.
//
// A context that can take back D tokens has 1 + D planes of states, and plane i is the state i
// tokens ago. The library has every batch write all of them, as many tokens as it may have: in
// each layer one more copy of the convolution's state for every plane, and the rest goes through
// a buffer that is copied out. That is a twentieth to an eighth of a step with one token, which has
// nothing to be taken back.
//
// So each batch is computed with the planes that it can use. How many that is has to follow from
// its size alone, because the library uses the graph of an earlier batch of the same size again.
#pragma once

#include <llama.h>

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "state/tokens.h"

namespace holdfast::llama {

// The context's next batches write planes for this many tokens. There is no call of the library for
// that, so a field of its own is written; llama_n_rs_seq(), which the library was built with, has
// to see the field before and after. An Error where it does not: these headers are not the
// library's.
// REQUIRES: not more than the context was made with.
[[nodiscard]] Result<void> set_planes(llama_context* context, TokenPos depth);

// The same for a field and a reader of it. Nothing is written where they differ at first.
[[nodiscard]] Result<void> write_planes(std::uint32_t& field, std::uint32_t depth,
                                        const std::function<std::uint32_t()>& read);

}  // namespace holdfast::llama
