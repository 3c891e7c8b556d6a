// What of a folder lies along a prompt: of the entries that an index found by the prompt's anchors,
// those whose tokens agree with it.
//
//   prompt   [ t t t t t t t t t t t t t )
//   rows      [ blob  )[ blob    )            the fewest that cover what can be covered from 0 on
//   places         *         *    *           all whose tokens agree, ascending
//
// Pure: no I/O. Verified by disk_store_model_test.cc against a plain search.
#pragma once

#include <functional>
#include <span>

#include "tier/blob.h"
#include "tier/blob_index.h"
#include "tier/blob_store.h"

namespace holdfast::tier {

// How far a blob's tokens agree with a prompt: a position, 0 if not even its anchor does.
[[nodiscard]] TokenPos agreed_end(const BlobPath& path, TokenSpan tokens,
                                  std::span<const PathName> anchors);

// Adds to the match what lies along its tokens, of the entries that are offered.
// REQUIRES: `match` has its space, tokens and anchors, and nothing else.
void sort_in(StoreMatch& match, std::span<const IndexEntry> entries,
             const std::function<bool(const BlobKey&)>& is_offered);

}  // namespace holdfast::tier
