// Machine: how fast a machine reads prompts and copies states.
//
// Some of what Holdfast decides depends on time: a checkpoint inside a message is not taken once
// copying has had its share of the time of reading (Checkpointer::time_allows). So a replay has to
// know how long both take.
//
//   reading a chunk  =  chunk_ms + its work (model_shape.h) x the operations of a token / flops
//   copying          =  bytes / bytes_per_ms
#pragma once

#include <optional>
#include <span>
#include <string>

#include "policy/model_shape.h"

namespace holdfast::policy {

struct Machine {
  std::string name;
  std::string about;
  double flops = 0;         // of reading, in a second
  double chunk_ms = 0;      // what a chunk takes however few tokens it has
  double bytes_per_ms = 0;  // between a slot and memory

  [[nodiscard]] double read_ms(const ModelShape& shape, TokenPos begin, TokenPos end) const {
    return chunk_ms + shape.work(begin, end) * shape.token_flops / flops * 1000.0;
  }
  [[nodiscard]] double copy_ms(ByteCount bytes) const {
    return static_cast<double>(bytes) / bytes_per_ms;
  }
};

// The first one is the default.
[[nodiscard]] std::span<const Machine> known_machines();
[[nodiscard]] std::optional<Machine> find_machine(const std::string& name);

}  // namespace holdfast::policy
