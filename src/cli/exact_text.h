// MadeText: sentences from a seed, and facts among them that can be asked for.
//
// The same seed gives the same text on every machine. The facts are worded so that a small model
// finds them again.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace holdfast::cli {

struct MadeFact {
  std::string statement;
  std::string question;
  std::string answer;  // a part of every right answer, and of nothing else
};

class MadeText {
 public:
  explicit MadeText(std::uint64_t seed) : random_(seed) {}

  // 0 .. limit - 1. REQUIRES: limit > 0.
  [[nodiscard]] std::size_t below(std::size_t limit);
  [[nodiscard]] bool once_in(std::size_t times) { return below(times) == 0; }

  [[nodiscard]] std::string sentence();
  [[nodiscard]] std::string prose(std::size_t sentences);
  [[nodiscard]] MadeFact fact();
  // A short message with or without a fact in it, as people write them.
  [[nodiscard]] std::string message();

 private:
  std::mt19937_64 random_;
};

// About how many tokens a sentence has.
inline constexpr std::size_t kSentenceTokens = 12;

}  // namespace holdfast::cli
