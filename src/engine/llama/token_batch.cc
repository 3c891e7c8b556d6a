#include "engine/llama/token_batch.h"

#include <algorithm>

namespace holdfast::llama {

TokenBatch::TokenBatch(std::size_t rows) {
  tokens_.reserve(rows);
  positions_.reserve(rows);
  sequence_counts_.reserve(rows);
  sequences_.reserve(rows);
  sequence_pointers_.reserve(rows);
  outputs_.reserve(rows);
}

std::size_t TokenBatch::append(SlotId slot, Token token, TokenPos position, bool output) {
  tokens_.push_back(token);
  positions_.push_back(position);
  sequence_counts_.push_back(1);
  sequences_.push_back(slot.value);
  outputs_.push_back(output ? 1 : 0);
  return size() - 1;
}

void TokenBatch::clear() {
  tokens_.clear();
  positions_.clear();
  sequence_counts_.clear();
  sequences_.clear();
  outputs_.clear();
}

int TokenBatch::first_output() const {
  const auto found = std::ranges::find(outputs_, 1);
  return found == outputs_.end() ? -1 : static_cast<int>(found - outputs_.begin());
}

llama_batch TokenBatch::view() {
  sequence_pointers_.clear();
  for (llama_seq_id& sequence : sequences_) sequence_pointers_.push_back(&sequence);
  llama_batch batch{};
  batch.n_tokens = static_cast<std::int32_t>(size());
  batch.token = tokens_.data();
  batch.pos = positions_.data();
  batch.n_seq_id = sequence_counts_.data();
  batch.seq_id = sequence_pointers_.data();
  batch.logits = outputs_.data();
  return batch;
}

}  // namespace holdfast::llama
