// AnswerKeeper: keeps the answers of a TokenHistory in a cache folder (tier/answer_log.h).
//
//   history      a b c d e      what is remembered
//   log          a b c          d could not be written: the disk is full
//   later        a b c d e      started over with all that is remembered, when there is room again
//
// After a failure nothing is written for a while. Then the next answer, or finish(), begins the
// log from the start, so that what was missed is written too. A log that has grown too large is
// started over as well, without what has been forgotten.
//
// One owning thread. The history may be used by others meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cache/token_history.h"
#include "env/clock.h"
#include "tier/answer_log.h"

namespace holdfast::cache {

class AnswerKeeper {
 public:
  static constexpr std::chrono::seconds kPauseAfterFailure{10};

  // REQUIRES: all of them outlive it.
  AnswerKeeper(tier::FileSystem& files, const TokenHistory& history, const env::Clock& clock)
      : files_(&files), history_(history), clock_(clock) {}

  // Told of the first failure and, with nothing, of the first success after it; for the log.
  std::function<void(const std::string&)> on_trouble;
  // Told of each answer that could not be written when it was given.
  std::function<void()> on_missed;

  // Writes all that is remembered; what was there before is removed. To be called first, and
  // again with the files of a folder that was rebuilt.
  void begin();
  void begin_in(tier::FileSystem& files);
  // REQUIRES: the history remembers it, or did.
  void keep(const tier::RememberedAnswer& answer);
  // Removes all that is there, and starts over with what is remembered now.
  [[nodiscard]] Result<void> clear();
  // Nothing more will come: what was missed is tried once more.
  void finish();

 private:
  [[nodiscard]] bool write(const tier::RememberedAnswer& answer);
  [[nodiscard]] bool begin_anew();
  void note_trouble(const std::string& what);
  void note_success();

  tier::FileSystem* files_;
  const TokenHistory& history_;
  const env::Clock& clock_;
  std::unique_ptr<tier::AnswerLog> log_;  // null: the latest write failed
  bool in_trouble_ = false;
  env::Clock::TimePoint again_{};  // after a failure not before
};

}  // namespace holdfast::cache
