#include "cli/exact_text.h"

#include <array>
#include <string_view>

namespace holdfast::cli {
namespace {

constexpr std::array<std::string_view, 12> kTowns = {"Lisbon", "Oslo",  "Kyoto",  "Cairo",
                                                     "Boston", "Turin", "Prague", "Nairobi",
                                                     "Dublin", "Lima",  "Quito",  "Riga"};
constexpr std::array<std::string_view, 10> kWho = {
    "The baker",     "My sister",    "The captain", "A student",   "The doctor",
    "Our neighbour", "The gardener", "A pilot",     "The teacher", "A tailor"};
constexpr std::array<std::string_view, 10> kDid = {"sold",   "found",  "painted", "repaired",
                                                   "lost",   "bought", "carried", "counted",
                                                   "washed", "hid"};
constexpr std::array<std::string_view, 12> kWhat = {
    "a green bicycle", "two old maps",  "the heavy door", "a box of nails",
    "seven candles",   "a wooden boat", "the red lamp",   "three umbrellas",
    "a silver watch",  "the long rope", "a paper kite",   "nine apples"};
constexpr std::array<std::string_view, 8> kWhen = {
    "on Monday",    "before the rain",  "in the morning",    "after the concert",
    "last October", "during the storm", "while it was dark", "at noon"};

template <std::size_t N>
std::string one_of(MadeText& text, const std::array<std::string_view, N>& words) {
  return std::string(words[text.below(N)]);
}

}  // namespace

std::size_t MadeText::below(std::size_t limit) { return random_() % limit; }

std::string MadeText::sentence() {
  std::string made = one_of(*this, kWho);
  (made += ' ') += one_of(*this, kDid);
  (made += ' ') += one_of(*this, kWhat);
  (made += ' ') += one_of(*this, kWhen);
  return made + '.';
}

std::string MadeText::prose(std::size_t sentences) {
  std::string made;
  for (std::size_t i = 0; i < sentences; ++i) (made += made.empty() ? "" : "\n") += sentence();
  return made;
}

MadeFact MadeText::fact() {
  const std::string town = one_of(*this, kTowns);
  const std::string code = std::to_string(10000 + below(90000));
  return {.statement = "The secret code of " + town + " is " + code + ".",
          .question = "What is the secret code of " + town + "?",
          .answer = code};
}

std::string MadeText::message() {
  const MadeFact known = fact();
  switch (below(5)) {
    case 0: return known.statement + " " + known.question;
    case 1: return "Count from 1 to " + std::to_string(5 + below(20)) + ".";
    case 2: return prose(1 + below(30)) + "\n" + known.question;
    case 3: return "I live in " + one_of(*this, kTowns) + ". Where do I live?";
    default: return "Say this again: " + sentence();
  }
}

}  // namespace holdfast::cli
