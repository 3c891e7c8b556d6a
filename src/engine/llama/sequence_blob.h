// The library's own form of a sequence's state, a blob: a head and then what memory writes.
#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/llama/llama_copies.h"
#include "state/slot_id.h"

namespace holdfast::llama {

// The first word of every sequence blob that this version of the library writes (LLAMA-7).
inline constexpr std::uint32_t kSequenceBlobMagic = 0xaf143cd8;
// The bytes of the head: that word and the sequence.
inline constexpr std::size_t kSequenceBlobHead = 8;

// Writes what llama_state_seq_get_data_ext() writes, and moves tensors with `copies`. Returns the
// number of bytes. Throws what the library throws, and if `into` is too small.
// REQUIRES: nothing is being computed.
std::size_t copy_state_out(llama_context* context, SlotId slot, llama_state_seq_flags flags,
                           std::span<std::byte> into, LlamaCopies& copies);

}  // namespace holdfast::llama
