// Pulse: whether the scheduler's loop still goes round, told to any thread.
//
// The loop notes each piece of work as it begins it, and when it rests. A piece that takes far
// longer than its like did is stuck: an engine call that does not return, a grammar that is never
// done. How long that is depends on model and machine, so it is measured:
//
//   bound = 20 times the slowest recent piece of its kind, scaled to its tokens, and at least 60 s
//   bound = 600 s before a piece of its kind has ended
//
// Invariants, verified by the tests of the same numbers (pulse_test.cc):
//   PULSE-1  a loop that rests is never stuck, however long
//   PULSE-2  a piece is stuck if and only if it has been under way for longer than its bound
//   PULSE-3  the bound follows the slowest recent piece of the same kind
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "env/clock.h"
#include "state/tokens.h"

namespace holdfast::serve {

enum class Work {
  kRound,    // taking requests in, beginning them, commands
  kReading,  // a chunk of a prompt
  kWriting,  // a step for all who write
  kIdle,     // what is done while nobody waits
};

struct PulseReading {
  Work work = Work::kRound;
  bool resting = true;
  TokenPos tokens = 0;    // of the piece under way
  std::string request;    // whose it is, or one of several; empty: nobody's
  double piece_ms = 0.0;  // since it began
  double bound_ms = 0.0;  // of the piece
  double round_ms = 0.0;  // since the latest round began

  [[nodiscard]] bool stuck() const { return !resting && piece_ms > bound_ms; }
  // "reading 256 tokens for 75 s".
  [[nodiscard]] std::string in_words() const;
};

class Pulse {
 public:
  explicit Pulse(const env::Clock& clock) : clock_(clock), round_(clock.now()) {}

  // -- the loop's thread ------------------------------------------------------------------------
  // Ends the piece before.
  void begin(Work work, TokenPos tokens = 0, std::string_view request = "");
  void rest();

  // Any thread.
  [[nodiscard]] PulseReading read() const;

 private:
  // The slowest recent piece of a kind. It fades, so that one slow moment is forgotten.
  struct Slowest {
    double ms = 0.0;  // 0: none has ended
    TokenPos tokens = 0;
  };
  void end_piece(env::Clock::TimePoint now) REQUIRES_LOCK(mutex_);
  [[nodiscard]] double bound_ms() const REQUIRES_LOCK(mutex_);

  const env::Clock& clock_;
  mutable Mutex mutex_;
  std::array<Slowest, 4> slowest_ GUARDED_BY(mutex_);
  env::Clock::TimePoint round_ GUARDED_BY(mutex_);
  env::Clock::TimePoint began_ GUARDED_BY(mutex_){};
  PulseReading now_ GUARDED_BY(mutex_);  // its times are filled in by read()
};

}  // namespace holdfast::serve
