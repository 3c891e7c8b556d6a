// ExactRun: clients that ask the running server, and ask the cold one the same.
//
//   client 1   ask running, ask cold, compare, pause | ...
//   client 2   ...
//   the caller's thread: shows how far they are, and restarts the running server between requests
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "cli/exact_book.h"
#include "cli/exact_desk.h"
#include "cli/exact_frozen.h"
#include "cli/exact_talk.h"

namespace holdfast::cli {

struct ExactLoad {
  int clients = 1;
  double pause_s = 0.0;  // of each client, after each answer
  int restarts = 0;      // during talks
};

class ExactRun {
 public:
  // Both outlive it.
  ExactRun(ExactDesk& desk, ExactBook& book, const ExactLoad& load)
      : desk_(desk), book_(book), load_(load) {}

  // Made-up talks. Returns when all was asked, or when it makes no sense to go on.
  void talks(std::uint64_t seed, int requests);
  // Cold answers are asked for once for each request, however often this is called.
  void frozen(const std::vector<FrozenRequest>& requests, const std::string& occasion);
  // Between two of the above, or by them.
  void restart();

  [[nodiscard]] bool complete() const { return !broken_off_; }
  [[nodiscard]] int restarts() const { return restarts_; }

 private:
  void run_clients(const std::string& what, int requests, int restarts,
                   const std::function<void()>& client);
  // Whether one more may be asked.
  [[nodiscard]] bool take_ticket();
  [[nodiscard]] bool stopped() const;
  void pause() const;
  void note_failure(const std::string& where, const Error& error);

  void talk(std::uint64_t seed, std::uint64_t number);
  // Those that came; what failed is noted.
  [[nodiscard]] std::vector<ExactAnswers> ask_at_once(const std::vector<nlohmann::json>& requests,
                                                      int patience_ms, const std::string& where);
  // A step of a talk that is asked and compared. False: the talk is over.
  [[nodiscard]] bool take_step(ScriptedTalk& talk, const TalkStep& step, const std::string& where);
  [[nodiscard]] Result<void> ask_frozen(const FrozenRequest& request, ExactAnswers& cold,
                                        const std::string& occasion);

  ExactDesk& desk_;
  ExactBook& book_;
  const ExactLoad load_;
  std::vector<ExactAnswers> cold_answers_;  // to frozen requests; empty: not asked for yet
  std::atomic<int> given_ = 0;              // tickets
  int tickets_ = 0;
  int restarts_ = 0;
  std::atomic<int> failures_ = 0;
  std::atomic<bool> broken_off_ = false;
};

}  // namespace holdfast::cli
