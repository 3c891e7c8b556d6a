// Policy: a cache that sees requests one after the other, and no model.
//
// Invariants, verified by the replay and its tests:
//   CACHEMODEL-1  what a policy reuses of a prompt lies in an earlier prompt or answer, and is
//                 not the whole prompt (its last token is always computed)
//   CACHEMODEL-2  what it holds between requests never weighs more than its budget. What a request
//                 at work needs is not counted, for nobody.
//
// Sequential: a request ends before the next one begins.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "policy/machine.h"
#include "policy/model_shape.h"
#include "policy/path_trie.h"

namespace holdfast::policy {

inline constexpr ByteCount kUnlimited = std::numeric_limits<std::int64_t>::max();

// One request, as a policy sees it.
struct Turn {
  std::size_t index = 0;
  const Request* request = nullptr;
  const Path* path = nullptr;
};

struct Served {
  TokenPos reused = 0;
  ByteCount written = 0;      // rows and states that were put into the cache
  std::uint32_t states = 0;   // of them, states
  std::uint32_t evicted = 0;  // things that went
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual Served serve(const Turn& turn) = 0;
  [[nodiscard]] virtual ByteCount held() const = 0;
};

struct PolicySetup {
  const Workload* workload = nullptr;
  const PathTrie* trie = nullptr;
  ModelShape shape;
  ByteCount budget = kUnlimited;
  Machine machine = known_machines().front();  // for what a policy decides by time
};

using PolicyPtr = std::unique_ptr<Policy>;

}  // namespace holdfast::policy
