// Chunk keys: names for tokens under which two sequences agree exactly as far as
// they agree in whole chunks.
//
//   tokens   s s s s | u u u u | a a x ...        tokens   s s s s | u u u u | a a y
//   keys     S s s s | U u u u | A a x            keys     S s s s | U u u u | B a y
//
// The last bits of a row depend on the whole chunk that it was computed in. Where
// two prompts part inside a chunk, the tokens before that place are the same and
// their rows are not. So the first key of each chunk also stands for the rest of
// it, and what is filed under keys never mixes the rows of two chunks.
//
// Sequences that are cut at the same places have equal keys only if they have
// equal tokens: the first key is the token plus a hash of the others, which are
// their own keys. Where they are cut differently, or where two hashes agree by
// accident, 32 bits keep them apart at the start of the chunk, and the tokens
// that follow it do.
//
// Tokens beyond the last cut are keys as they are.
#pragma once

#include <span>

#include "state/tokens.h"

namespace holdfast {

// REQUIRES: `cuts` ascend and lie within the tokens.
[[nodiscard]] Tokens chunk_keys(TokenSpan tokens, std::span<const TokenPos> cuts);

}  // namespace holdfast
