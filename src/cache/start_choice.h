// StartChoice: how a prompt could begin now.
#pragma once

#include "plan/start_plan.h"
#include "tree/match.h"

namespace holdfast {

// Valid until the cache changes.
struct StartChoice {
  Match match;
  StartPlan plan;
};

}  // namespace holdfast
