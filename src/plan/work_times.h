// WorkTimes: how long chunks and copies take, as measured.
//
// Invariants, verified by check():
//   WORK-1  all times are finite, and none is negative
//
// Pure: no I/O, no clock.
#pragma once

#include <string>
#include <vector>

#include "state/parts.h"
#include "state/tokens.h"

namespace holdfast::plan {

// How long work takes that has a price for each piece and one for its size: chunks and their
// tokens, copies and their bytes. Fitted to the latest few times. Pieces that were all of one
// size do not tell the two prices apart; then all of it is taken for the size's.
class PieceTimes {
 public:
  // This many pieces, which together have this size. Times of nothing are not noted. One that took
  // more than twice as long as expected counts as twice: it waited for something.
  void note(double pieces, double size, double ms);
  [[nodiscard]] bool known() const { return weight_ > 0.0; }
  // 0 until something is known.
  [[nodiscard]] double ms(double pieces, double size) const;

 private:
  struct Prices {
    double piece = 0.0;
    double size = 0.0;
  };
  [[nodiscard]] Prices prices() const;

  // Sums over the latest notes, each counting less than the one after it.
  double weight_ = 0.0;
  double pieces_pieces_ = 0.0;
  double pieces_size_ = 0.0;
  double size_size_ = 0.0;
  double pieces_ms_ = 0.0;
  double size_ms_ = 0.0;
};

class WorkTimes {
 public:
  [[nodiscard]] bool knows_reading() const { return reading_.known(); }
  // 0 until something is known.
  [[nodiscard]] double read_ms(TokenPos tokens) const {
    return reading_.ms(1.0, static_cast<double>(tokens));
  }
  [[nodiscard]] double copy_ms(ByteCount bytes) const;

  // A chunk is being read.
  void begin_read(TokenPos tokens);
  // All chunks since the last call took this long together. False: there were none.
  bool note_read(double ms);
  void note_copied(ByteCount bytes, double ms) {
    copying_.note(1.0, static_cast<double>(bytes), ms);
  }

  [[nodiscard]] std::vector<std::string> check() const;

 private:
  PieceTimes reading_;
  PieceTimes copying_;
  TokenPos unmeasured_ = 0;  // tokens, and chunks, since note_read()
  int unmeasured_chunks_ = 0;
};

}  // namespace holdfast::plan
