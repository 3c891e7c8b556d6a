// vLLM, "align": rows in blocks, states at ends of blocks, everything in one LRU.
//
//   blocks   [ 0 )[ 1 )[ 2 )[ 3 )...      of `vllm_block` tokens, whole ones only
//   states                  *  at the last whole block of the prompt and of the answer,
//                      *       and where a prompt leaves rows that are still there
//
// A prompt reuses up to a block before whose end all rows and a state at whose end are
// there. What a request used is newer than what others did, its beginning newest of all.
#pragma once

#include "policy/policy.h"

namespace holdfast::policy {

[[nodiscard]] PolicyPtr make_vllm(const PolicySetup& setup);

}  // namespace holdfast::policy
