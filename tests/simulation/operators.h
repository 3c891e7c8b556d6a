// Operators: what is asked of a server beside answers. DELETE /cache, of all or of one tenant;
// conversations that are dropped; slots that are saved, restored and erased; lists and status
// pages.
//
// What they do shows in the answers of Clients, which are compared. Each of their own questions is
// answered.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "choices.h"
#include "counts.h"
#include "serve/scheduler.h"
#include "simulated_clock.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::simulation {

class Operators {
 public:
  Operators(Choices& choices, tier::SimulatedFiles& files, const SimulatedClock& clock,
            Counts& counts, int slots)
      : choices_(choices), files_(files), clock_(clock), counts_(counts), slots_(slots) {}

  void act(serve::Scheduler& scheduler);
  // Questions that no answer has come to.
  [[nodiscard]] int waiting() const { return *waiting_; }
  // They do not ask the next server again.
  void server_ended() {
    waiting_ = std::make_shared<int>(0);
    seen_ = std::make_shared<std::vector<tree::NodeId>>();
  }

 private:
  void clear(serve::Scheduler& scheduler);
  void list(serve::Scheduler& scheduler);
  void drop(serve::Scheduler& scheduler);
  void save(serve::Scheduler& scheduler);
  void restore(serve::Scheduler& scheduler);
  void erase(serve::Scheduler& scheduler);
  [[nodiscard]] serve::SlotAsk some_slot();
  [[nodiscard]] std::string some_name() {
    return "talk" + std::to_string(choices_.below(3)) + ".bin";
  }

  Choices& choices_;
  tier::SimulatedFiles& files_;
  const SimulatedClock& clock_;
  Counts& counts_;
  const int slots_;
  std::shared_ptr<int> waiting_ = std::make_shared<int>(0);
  // Conversations that the last list named.
  std::shared_ptr<std::vector<tree::NodeId>> seen_ = std::make_shared<std::vector<tree::NodeId>>();
};

}  // namespace holdfast::simulation
