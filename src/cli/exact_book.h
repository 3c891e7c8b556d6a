// ExactBook: what was compared and what came of it, in sums over what was reused and over what the
// client did.
//
// Invariants, verified by check():
//   EXACT-1  every table adds up to the sum of all
//   EXACT-2  no sum has more differences than requests
//
// Any thread.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/thread_annotations.h"
#include "cli/exact_answer.h"

namespace holdfast::cli {

// One answer of the running server beside the one of the cold server.
struct ExactPair {
  std::string reuse;     // ScriptedTalk::reuse_of
  std::string occasion;  // "edit", "warm arm", ...
  std::string where;     // "talk 3, step 4": where to look again
  ExactAnswer running;
  ExactAnswer cold;
  std::string needle = {};  // what a right answer has in it; empty: not known
};

struct ExactSum {
  std::uint64_t requests = 0;
  std::uint64_t prompts = 0;  // that differ, and so on
  std::uint64_t first_tokens = 0;
  std::uint64_t texts = 0;
  double first_apart = 0.0;
  double apart = 0.0;
  std::uint64_t needles = 0;  // answers in which there is one to be found
  std::uint64_t found = 0;
  std::uint64_t found_cold = 0;

  void add(const ExactPair& pair, const ExactDifference& difference);
};

using ExactSums = std::map<std::string, ExactSum>;

struct ExactTotals {
  ExactSum all;
  ExactSums by_reuse;
  ExactSums by_occasion;
  std::uint64_t other_tokens = 0;         // compared in nothing
  std::uint64_t cold_reused = 0;          // answers of the cold server that were not cold
  std::vector<nlohmann::json> differing;  // the first of them
  std::vector<std::string> failures;      // the first of them
  std::uint64_t failed = 0;
};

class ExactBook {
 public:
  static constexpr std::size_t kShownMax = 1000;

  void note(const ExactPair& pair);
  void note_failure(const std::string& what);

  [[nodiscard]] ExactTotals totals() const;
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  mutable Mutex mutex_;
  ExactTotals totals_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::cli
