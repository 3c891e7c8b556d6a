// Oracle: what a server that has never seen anything answers.
//
// Where bits do not depend on chunks it is the bare fake engine, without a scheduler or a cache:
// one prefill and single tokens. Where prompts are exact, and where the context is the limit, it is
// a scheduler of its own with one slot, no memory and no drafts.
#pragma once

#include <memory>

#include "ask.h"
#include "engine/testing/fake.h"
#include "serve/scheduler.h"
#include "simulated_clock.h"

namespace holdfast::simulation {

class Oracle {
 public:
  Oracle(engine::FakeOptions fake, Exactness exact, TokenPos grid_step);

  [[nodiscard]] Expected answer(const Ask& ask);

 private:
  [[nodiscard]] Expected by_engine(const Ask& ask);
  [[nodiscard]] Expected by_scheduler(const Ask& ask);

  const Exactness exact_;
  engine::FakeText text_;
  engine::FakeEngine engine_;  // of by_scheduler()
  engine::FakeEngine bare_;    // of by_engine(): any prompt is one chunk
  SimulatedClock clock_;
  serve::Scheduler scheduler_;
  int asked_ = 0;
};

}  // namespace holdfast::simulation
