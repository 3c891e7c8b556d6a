// Peers whose cache is a radix tree of rows with a few states.
//
//   lru      states at the end of the prompt, of the answer, and where a prompt leaves
//            a known path; whatever was used longest ago goes, one pool for all
//   sglang   states at the end of each chunk of 8192 tokens, of the prompt (64-aligned),
//            of the answer (each 256 tokens) and where a prompt leaves a known path
//            (64-aligned); two pools of a fixed ratio, each with its LRU; a leaf goes whole
//   marconi  states where a prompt leaves a known path and at the end of the answer; what
//            scores least goes: how recently + alpha x how much work for each byte
#pragma once

#include "policy/policy.h"

namespace holdfast::policy {

[[nodiscard]] PolicyPtr make_lru(const PolicySetup& setup);
[[nodiscard]] PolicyPtr make_sglang(const PolicySetup& setup);
[[nodiscard]] PolicyPtr make_marconi(const PolicySetup& setup, double alpha);

}  // namespace holdfast::policy
