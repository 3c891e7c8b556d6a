// What no cache, and what a cache that knows the future, could reuse.
//
//   oracle    memory without end: all that an earlier request or answer had (PathTrie)
//   bound     no policy whatever can do better under the budget
//   offline   knows all requests, and packs what it keeps greedily: a policy could do it
//
// To reuse the first d tokens of request i, the rows of each must have been held since
// the last request that passed them, and a state at d since the last one that passed d:
//
//   row  |=====|..........i        bytes x time of all reuses together cannot exceed
//   row  |=====|..........i        budget x time of the trace
//   row  |==========|.....i
//         deeper rows were passed longer ago (D grows with depth)
//
// `bound` takes for each request the concave hull of gain over bytes x time and fills
// the budget with the best pieces of all requests, even parts of them. `offline` takes the
// same pieces in the same order, but only if they fit at every moment; its states are
// held from the last request that *computed* their place.
#pragma once

#include <vector>

#include "policy/model_shape.h"
#include "policy/path_trie.h"
#include "policy/policy.h"

namespace holdfast::policy {

enum class Gain { kTokens, kWork };

// Tokens, or work, that all requests together could save at most.
[[nodiscard]] double upper_bound(const PolicySetup& setup, Gain gain);
// By request: tokens reused.
[[nodiscard]] std::vector<TokenPos> offline_reuse(const PolicySetup& setup);

}  // namespace holdfast::policy
