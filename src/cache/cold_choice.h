// ColdChoice: what to bring up from the tier below for one prompt, if anything pays.
//
//   prompt     [ s s s s s s | u u u u u | a a a a | u u u h )
//   memory     ==========^reused
//   below      ==================================             rows, in blobs
//                     *            *           *              places
//                                              ^ the one that saves most time
//
// Reading a token again takes as long as was measured, and so does a byte from below. What
// begins deeper saves more tokens and costs more bytes; the best is where their sum is least.
//
// Pure: no I/O, no clock.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tier/blob_store.h"
#include "tree/types.h"

namespace holdfast::cache {

struct ColdInput {
  tree::StateNeeds needs;
  TokenPos prompt_length = 0;
  std::span<const TokenPos> cuts;  // the prompt's grid
  bool exact_prompts = false;
  bool may_begin_at_end = false;  // where the logits there were kept
  TokenPos reused = 0;            // tokens that are there without it
  TokenPos rows_held = 0;         // memory has the rows of [0, rows_held)
  double ms_per_token = 0.0;      // to read one; 0: not known, and then bringing always pays
  double bytes_per_ms = 1.0;
  ByteCount bytes_max = 0;  // that memory could take
};

struct ColdChoice {
  TokenPos position = 0;  // where the prompt could begin then
  std::vector<tier::RowsHit> rows;
  std::optional<tier::PlaceHit> place;
  ByteCount bytes = 0;  // on the way
};

// Nothing: it would not pay.
[[nodiscard]] std::optional<ColdChoice> choose_cold(const tier::StoreMatch& match,
                                                    const ColdInput& input);

}  // namespace holdfast::cache
