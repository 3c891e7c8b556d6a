// What verify-exact has found, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/exact_book.h"

namespace holdfast::cli {

struct ExactRunFacts {
  std::string what;  // "2,000 made-up requests of seed 7"
  std::uint64_t seed = 0;
  int clients = 1;
  double pause_s = 0.0;
  int restarts = 0;  // that were made
  bool control = false;
  double seconds = 0.0;
  bool complete = false;  // it was not broken off
};

[[nodiscard]] std::string exact_text(const ExactTotals& totals, const ExactRunFacts& facts);
[[nodiscard]] nlohmann::json exact_json(const ExactTotals& totals, const ExactRunFacts& facts);

// 0: all was compared, and no prompt differs. 1: some do. 2: something could not be compared.
[[nodiscard]] int exact_exit_code(const ExactTotals& totals, const ExactRunFacts& facts);

}  // namespace holdfast::cli
