// Holdfast itself: StateCache with its tree, plans, placement and eviction, on an engine
// whose states weigh nothing (weightless_engine.h), under the trace's clock.
//
// One slot, which is taken by nobody's request after each answer: what it holds goes into
// memory as if the next request took it, so that nothing is held beside the budget.
//
// The prompt's grid is the server's (512 tokens, and the end of each message; of a recording, the
// one that was recorded); messages end where earlier prompts of the same path ended. What the
// server decides by measured speeds (a checkpoint may take no more than 3% of reading) is decided
// by those of the machine that is played (machine.h). But whatever could be restored is, as peers
// do here; a server reads a short prefix where that takes less time.
#pragma once

#include "policy/policy.h"

namespace holdfast::policy {

[[nodiscard]] PolicyPtr make_holdfast(const PolicySetup& setup);

}  // namespace holdfast::policy
