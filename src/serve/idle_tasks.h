// What requests leave to be done in idle time (serve/idle_work.h).
#pragma once

#include "serve/prewarmer.h"
#include "serve/prover.h"

namespace holdfast::serve {

struct IdleTasks {
  Prover prover;
  Prewarmer prewarmer;
};

}  // namespace holdfast::serve
