// StartChoice: how a prompt could begin now.
#pragma once

#include "plan/start_plan.h"
#include "tree/match.h"

namespace holdfast::cache {

// Valid until the cache changes.
struct StartChoice {
  tree::Match match;
  plan::StartPlan plan;
};

}  // namespace holdfast::cache
