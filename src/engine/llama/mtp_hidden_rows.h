// MtpHiddenRows: the model's hidden rows that the coming MTP rows of one slot are read with.
//
//   positions    made     | pending pending pending | next
//   hidden row     -      |    h       h       h    |   h      position p is read with the hidden
//                       begin                      end         row of token p - 1
//
// There is one hidden row for each position in [begin, end]. Those before `end` belong to tokens
// whose MTP rows are not made yet ("pending"); the last one, the carried row, belongs to whatever
// token comes next. Where the carried row is not known it is zeros. The slot's first token is read
// with zeros too, and that is right.
//
// Invariant, verified by check():
//   MTPHIDDEN-1  there are exactly end - begin + 1 rows, and begin >= 0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "state/checked_bytes.h"
#include "state/tokens.h"

namespace holdfast::llama {

class MtpHiddenRows {
 public:
  // `width` floats a row; memory for `usual` pending rows is taken at once.
  MtpHiddenRows(std::size_t width, TokenPos usual);

  [[nodiscard]] TokenPos begin() const { return begin_; }
  [[nodiscard]] TokenPos end() const { return begin_ + pending(); }
  [[nodiscard]] TokenPos pending() const {
    return static_cast<TokenPos>(pending_.size() / carried_.size());
  }
  // REQUIRES: begin() <= position <= end().
  [[nodiscard]] const float* at(TokenPos position) const;
  // Whether the row of this position is here, and is not zeros because the real one is lost.
  [[nodiscard]] bool knows(TokenPos position) const;

  // The slot got one more token; its own hidden row is `row`, which the next one is read with.
  void push(std::span<const float> row);
  // The carried row is this.
  void set_carried(std::span<const float> row);
  // The carried row is what memory kept of it, or unknown.
  void restore_carried(const CheckedView& kept);
  [[nodiscard]] CheckedBytes copy_of_carried() const;

  // No rows are pending; the carried row stays, and is read with `position`.
  void restart_at(TokenPos position) noexcept;
  // The slot was truncated: the row of `position` is the carried one.
  // REQUIRES: begin() <= position <= end().
  void truncate(TokenPos position);

  // Appends violations of MTPHIDDEN-1.
  void check(std::vector<std::string>& violations, const std::string& whose) const;

 private:
  TokenPos begin_ = 0;
  std::vector<float> pending_;  // rows of [begin, end)
  std::vector<float> carried_;
  TokenPos unknown_at_ = -1;  // the position that is read with zeros because its row is lost
};

}  // namespace holdfast::llama
