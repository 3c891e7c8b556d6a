// ModelShape: what the states of a model weigh, and what computing them costs.
//
// Weights are those of keys and values in 16 bits and recurrent states in 32, without a
// draft head. A position's work counts as 1 for everything that is the same for each
// token, and `attention` more for each token before it:
//
//   work of tokens [a, b)  =  (b - a) + attention * (b^2 - a^2) / 2
//
// In operations, work of 1 is `token_flops`.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "state/tokens.h"

namespace holdfast::policy {

struct ModelShape {
  std::string name;
  ByteCount row_bytes = 0;    // of one token's attention rows
  ByteCount state_bytes = 0;  // of one recurrent state; 0: attention alone
  double attention = 0;
  TokenPos vllm_block = 16;  // tokens of a block, grown until a state fits a page
  double token_flops = 2e9;  // twice the active parameters

  [[nodiscard]] bool has_state() const { return state_bytes > 0; }
  [[nodiscard]] ByteCount rows(TokenPos tokens) const {
    return row_bytes * static_cast<ByteCount>(tokens);
  }
  [[nodiscard]] double work(TokenPos begin, TokenPos end) const {
    const double a = begin;
    const double b = end;
    return (b - a) + attention * (b * b - a * a) / 2;
  }
};

[[nodiscard]] std::span<const ModelShape> known_shapes();
// By its name, or its end ("35b-a3b").
[[nodiscard]] std::optional<ModelShape> find_shape(const std::string& name);

}  // namespace holdfast::policy
