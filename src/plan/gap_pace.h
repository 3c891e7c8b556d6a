// GapPace: how much is done for those who read between two steps of those who write.
//
//   step step |  chunk chunk copy  | step step step step ... step |  restore chunk  | step
//             `------ a gap -------' `---------- a rest ---------' `---- a gap -----'
//
// Between two decode steps prompts are read, states are copied out and brought back. Whoever
// writes waits meanwhile. Two things make that bearable: no gap is long, and few gaps are.
//
//   - A gap is planned to take no more than `target_ms`, by times that were measured. Its first
//     piece of work is always done, or nothing ever would be; a chunk that is too long for the
//     whole target is split into pieces, but never into pieces of less than `chunk_min` tokens,
//     because each of them reads every weight of the model again.
//   - Where a model reads `tokens_max` tokens in much less than that, a gap takes about their time
//     at most, with copies and all: a small model's answers flow as evenly as it can read.
//   - Within these limits a gap takes as much work as there is, up to `tokens_max` tokens: the same
//     work in many short gaps would make every token late instead of a few.
//   - After a gap that was noticed comes a rest: nothing but steps, until there were
//     `quiet_steps` of them (then no more than one gap in 24 is noticed, and the 95th percentile
//     is that of a step), or until they have taken as long as the gap did, less the share
//     of those who read: with w who write and r who read, (w - r) / w of it. A step for few
//     takes about as long as one for all, so a rest wastes what readers would have written in
//     it. Where as many read as write there is none, and reading never has less than half of
//     the time. Steps without work before them are saved up, so that a prompt which arrives
//     after quiet times is read without rests at first.
//
// What a simulated server reaches (serve/testing/timed_engine.h; 12 clients on 4 slots, answers of
// 16 to 128 tokens, times of a 9B-like model on an H200): seconds for all, and the 95th percentile
// of gaps.
//
//   prompts                              64 to 2048         1000 to 8000 tokens
//   a chunk before every step            16.3 s    99 ms    47.1 s   130 ms
//   no rests                             16.2      75       46.0     237
//   rests as above                       17.1      48       49.7     235
//   rests as long as the gap             18.1      22       65.0      81
//   no target: 2048 tokens in each gap   16.2      22       45.8     342
//   a target of 500 ms, rests as above   16.9      10       50.0     304
//
// For the same reason the limit is never less than what a step takes: about half of the time is
// the reader's, unless `tokens_max` tokens take less.
//
// Where the clock stands still, nothing is ever known. Then one chunk is read in each gap.
//
// Invariants, verified by check():
//   GAP-1  all times are finite, and none is negative; so are those of its parts
//   GAP-2  a gap in which nothing was done has taken no time and read no tokens
//
// Pure: no I/O, no clock.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "plan/quiet_steps.h"
#include "plan/work_times.h"
#include "state/parts.h"
#include "state/tokens.h"

namespace holdfast::plan {

struct GapPaceOptions {
  double target_ms = 250.0;    // 0: no limit, and no rests
  TokenPos tokens_max = 2048;  // in one gap, unless one chunk has more
  TokenPos chunk_min = 64;
  // After a gap that was noticed. 23: no more than one gap in 24 is. 0: there are no rests.
  int quiet_steps = 23;
};

// What was done between two steps of those who write.
struct TurnGap {
  bool begun = false;
  bool restored = false;
  double ms = 0.0;           // measured
  double expected_ms = 0.0;  // of chunks whose time is not known yet
  TokenPos tokens = 0;

  [[nodiscard]] double all_ms() const { return ms + expected_ms; }
};

class GapPace {
 public:
  explicit GapPace(GapPaceOptions options) : options_(options), rests_(options.quiet_steps) {}

  // -- what may be done in the gap at hand, while somebody writes ---------------------
  [[nodiscard]] bool resting() const;
  // How many of the next `wanted` tokens, which lie before a cut, are read now; 0: none in this
  // gap. All of them, or a piece where chunks may be split.
  enum class Chunks { kWhole, kMayBeSplit };
  [[nodiscard]] TokenPos tokens_to_read(TokenPos wanted, Chunks chunks) const;
  // Whether states of this many bytes may be copied out or brought back.
  [[nodiscard]] bool may_copy(ByteCount bytes) const;
  // The same for one that is to be brought back: one in each gap.
  [[nodiscard]] bool may_restore(ByteCount bytes) const;
  // How many bytes of a copy of `wanted` bytes that may be divided are copied now; 0: none in this
  // gap. All of them, or as many as fit a gap of their own. Rests do not hold a copy up: whoever
  // has read all of its prompt waits for it.
  [[nodiscard]] ByteCount bytes_to_copy(ByteCount wanted) const;

  // -- what was done ------------------------------------------------------------------
  // A chunk is being read; its time is an estimate until note_read().
  void begin_read(TokenPos tokens);
  // All chunks since the last call took this long together.
  void note_read(double ms);
  void note_copied(ByteCount bytes, double ms);
  void note_restored(ByteCount bytes, double ms);
  // Something else that those who write waited for, if it took a millisecond.
  void note_other(double ms);
  // A step for all who write: the gap before it is over. `writers` wrote, and `readers` would have
  // if their prompts had been read. REQUIRES: somebody wrote.
  void note_step(double ms, int writers, int readers);
  // Nobody writes, so nobody waits. What was measured stays known, and what is being measured
  // goes on.
  void nobody_writes();

  // -- looking in ---------------------------------------------------------------------
  // Work of the gap at hand so far.
  [[nodiscard]] double gap_ms() const { return gap_.all_ms(); }
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  [[nodiscard]] double limit_ms() const;
  [[nodiscard]] bool fits(double ms) const { return !gap_.begun || gap_ms() + ms <= limit_ms(); }
  [[nodiscard]] TokenPos piece_of(TokenPos wanted) const;
  void add_work(double ms);

  const GapPaceOptions options_;
  WorkTimes times_;
  QuietSteps rests_;
  double step_ms_ = 0.0;  // without work before it; 0: not known
  TurnGap gap_;
};

}  // namespace holdfast::plan
