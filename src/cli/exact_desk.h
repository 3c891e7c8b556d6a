// ExactDesk: where clients ask the two servers, and read what exactness needs of the answers.
//
// No request is under way while the running server is restarted. The cold server is asked by a few
// at a time: by one, so that each of its prompts is computed alone, or by all for a control.
//
// Any thread; restart() is the thread's that opened the servers.
#pragma once

#include <nlohmann/json.hpp>
#include <semaphore>
#include <vector>

#include "cli/exact_answer.h"
#include "cli/exact_gate.h"
#include "cli/exact_servers.h"

namespace holdfast::cli {

using ExactAnswers = std::vector<ExactAnswer>;  // one for each choice

class ExactDesk {
 public:
  // The servers outlive it. `control`: the running server, too, is to compute everything.
  ExactDesk(ServerPair& servers, int cold_clients, bool control)
      : servers_(servers), cold_room_(cold_clients), control_(control) {}

  [[nodiscard]] TokenPos context() const { return servers_.context(); }

  // With patience the client goes after that time, and then asks again.
  [[nodiscard]] Result<ExactAnswers> ask_running(nlohmann::json request, int patience_ms = 0);
  [[nodiscard]] Result<ExactAnswers> ask_cold(nlohmann::json request);
  [[nodiscard]] Result<void> restart();

 private:
  ServerPair& servers_;
  RequestGate gate_;
  std::counting_semaphore<> cold_room_;
  const bool control_;
};

}  // namespace holdfast::cli
