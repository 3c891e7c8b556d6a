// TokenBatch: the tokens of one llama_decode call, in the library's layout.
//
//   row          0      1      2      3
//   slot         0      0      1      1        a row is one token of one slot
//   position    40     41      7      8
//   output       -    yes      -    yes        the library keeps the logits of these rows
//
// The library names its outputs by the row of the batch, so rows keep the order in which they
// were appended. The buffers are used again from batch to batch.
#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "state/slot_id.h"
#include "state/tokens.h"

namespace holdfast::llama {

class TokenBatch {
 public:
  // Up to `rows` rows can be appended without allocating memory.
  explicit TokenBatch(std::size_t rows = 0);

  // Returns the row's number.
  std::size_t append(SlotId slot, Token token, TokenPos position, bool output);
  void clear();

  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  // The first row with an output; -1: no row has one.
  [[nodiscard]] int first_output() const;
  // What llama_decode takes. Valid until the next append() or clear().
  [[nodiscard]] llama_batch view();

 private:
  std::vector<Token> tokens_;
  std::vector<llama_pos> positions_;
  std::vector<std::int32_t> sequence_counts_;
  std::vector<llama_seq_id> sequences_;
  std::vector<llama_seq_id*> sequence_pointers_;  // filled by view()
  std::vector<std::int8_t> outputs_;
};

}  // namespace holdfast::llama
