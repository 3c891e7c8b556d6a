#include "cli/exact_frozen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "cli/chat_json.h"
#include "cli/exact_talk.h"
#include "cli/exact_text.h"
#include "cli/text_parts.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

constexpr double kShortest = 128.0;
constexpr std::array<double, 3> kDepths = {0.1, 0.5, 0.9};

// Sentences of a text on its rung: lengths grow by equal factors.
std::size_t sentences_of(std::size_t rung, std::size_t rungs, TokenPos longest) {
  const double share = static_cast<double>(rung) / static_cast<double>(rungs - 1);
  const double tokens = kShortest * std::pow(std::max(1.0, longest / kShortest), share);
  return std::max<std::size_t>(8, static_cast<std::size_t>(tokens / kSentenceTokens));
}

FrozenRequest needle_request(std::uint64_t seed, std::size_t sentences, double depth,
                             std::size_t number) {
  MadeText text(seed + sentences);
  const auto before = static_cast<std::size_t>(depth * static_cast<double>(sentences));
  std::string document = text.prose(before);
  const MadeFact fact = MadeText(seed * kNeedles + number).fact();
  document += "\n" + fact.statement + "\n" + text.prose(sentences - before);
  FrozenRequest made{
      .body = {{"messages", {{{"role", "user"}, {"content", document + "\n\n" + fact.question}}}},
               {"max_tokens", 24},
               {"chat_template_kwargs", {{"enable_thinking", false}}}},
      .where = "needle " + std::to_string(number + 1) + ", after " + std::to_string(before) +
               " of " + std::to_string(sentences) + " sentences",
      .needle = fact.answer};
  make_comparable(made.body);
  return made;
}

Error bad_line(const std::string& path, std::size_t line, const std::string& what) {
  return invalid_argument("--conversations", path + ", line " + std::to_string(line) + ": " + what);
}

}  // namespace

std::vector<FrozenRequest> needle_ladder(std::uint64_t seed, TokenPos longest) {
  const std::size_t rungs = (kNeedles + kDepths.size() - 1) / kDepths.size();
  std::vector<FrozenRequest> ladder;
  for (std::size_t i = 0; i < kNeedles; ++i) {
    const std::size_t sentences = sentences_of(i / kDepths.size(), rungs, longest);
    ladder.push_back(needle_request(seed, sentences, kDepths[i % kDepths.size()], i));
  }
  return ladder;
}

Result<std::vector<FrozenRequest>> read_conversations(const std::string& path) {
  std::ifstream file(path);
  if (!file) return invalid_argument("--conversations", "cannot read " + path);
  std::vector<FrozenRequest> requests;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (trim(line).empty()) continue;
    FrozenRequest request{.body = lenient_json(line), .where = "line " + std::to_string(number)};
    if (!request.body.is_object()) return bad_line(path, number, "no JSON object");
    if (!child_of(request.body, "messages").is_array())
      return bad_line(path, number,
                      "no field `messages` with a list; it has to be the body of a "
                      "request to /v1/chat/completions");
    make_comparable(request.body);
    requests.push_back(std::move(request));
  }
  if (requests.empty()) return invalid_argument("--conversations", path + " has no requests");
  return requests;
}

}  // namespace holdfast::cli
