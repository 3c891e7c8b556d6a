// The library's own form of a sequence's state, a blob: a head and then what memory writes.
#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/llama/llama_copies.h"
#include "state/slot_id.h"

namespace holdfast::llama {

// The first word of every sequence blob that this version of the library writes (LLAMA-7).
inline constexpr std::uint32_t kSequenceBlobMagic = 0xaf143cd8;
// The bytes of the head: that word and the sequence.
inline constexpr std::size_t kSequenceBlobHead = 8;

// Writes what llama_state_seq_get_data_ext() writes, but for the tensors: those are left to whoever
// moves the pieces. Throws what the library throws, and if `into` is not of the blob's size.
[[nodiscard]] std::vector<PieceOut> write_all_but_tensors(llama_context* context, SlotId slot,
                                                          llama_state_seq_flags flags,
                                                          std::span<std::byte> into);
// Writes what llama_state_seq_get_data_ext() writes, and moves tensors with `copies`. Throws as
// above. REQUIRES: nothing is being computed.
void copy_state_out(llama_context* context, SlotId slot, llama_state_seq_flags flags,
                    std::span<std::byte> into, LlamaCopies& copies);

// Reads what llama_state_seq_set_data_ext() reads, but for the tensors: where those are wanted is
// returned. Throws what the library throws, and if the blob is too short or too long.
// REQUIRES: the blob begins as the library's own do.
[[nodiscard]] std::vector<PieceIn> read_all_but_tensors(llama_context* context, SlotId slot,
                                                        llama_state_seq_flags flags,
                                                        std::span<const std::byte> blob);

}  // namespace holdfast::llama
