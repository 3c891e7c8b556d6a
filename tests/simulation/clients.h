// Clients: conversations that go on, branch, are edited and asked again; clients that leave in the
// middle, give up early, ask several times at once, name a slot, want nothing reused.
//
// Every answer is compared with the Oracle's; where prompts alone are exact and the engine failed
// in the middle of an answer, what was decoded may have been read again, and then only the first
// token is, which follows from the prompt's state. One that ends otherwise must have a reason: its
// client left, its time was over, the engine failed while it ran, the queue was full, or its server
// ended.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "call.h"
#include "choices.h"
#include "counts.h"
#include "engine_faults.h"
#include "life.h"
#include "oracle.h"
#include "serve/scheduler.h"

namespace holdfast::simulation {

class Clients {
 public:
  Clients(Choices& choices, Oracle& oracle, const EngineFaults& faults, Counts& counts,
          const Setting& setting);

  // One client does something.
  void act(serve::Scheduler& scheduler);
  // Looks at what has ended. `scheduler`: hears how the conversations will go on; may be null.
  void collect(serve::Scheduler* scheduler);
  // Their server has ended: what had not, has now, and is asked of the next one, or not.
  void server_ended();
  [[nodiscard]] bool waiting() const { return !calls_.empty(); }
  [[nodiscard]] std::string first_waiting() const;

 private:
  struct Talk {
    Tokens tokens;  // whole turns
    std::vector<MessageSpan> spans;
    std::size_t whose = 0;
  };
  struct Open {
    std::shared_ptr<Call> call;
    std::size_t talk = 0;
  };

  void ask(serve::Scheduler& scheduler);
  void submit(serve::Scheduler& scheduler, std::size_t talk, const Ask& ask);
  void leave(serve::Scheduler& scheduler);
  [[nodiscard]] std::size_t choose_talk();
  [[nodiscard]] std::size_t new_talk();
  [[nodiscard]] Ask next_turn(std::size_t talk);
  void vary(Ask& ask);
  void cut_back(Talk& talk);
  void add_turn(Talk& talk, Role role, const Tokens& said);
  [[nodiscard]] Tokens words(std::size_t most);
  void judge(const Open& open, serve::Scheduler* scheduler);
  void go_on(const Open& open, serve::Scheduler* scheduler);
  void offer_prewarm(const Call& call, const Talk& talk, serve::Scheduler& scheduler);
  void judge_failure(const Call& call, const Expected& expected);
  [[nodiscard]] bool answers_alike(const Call& call) const;

  Choices& choices_;
  Oracle& oracle_;
  const EngineFaults& faults_;
  Counts& counts_;
  const Setting setting_;
  std::vector<Talk> talks_;
  std::vector<Open> calls_;
  bool ending_ = false;  // their server has ended
  int asked_ = 0;
};

}  // namespace holdfast::simulation
