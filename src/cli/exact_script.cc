#include "cli/exact_script.h"

#include <algorithm>

#include "cli/exact_text.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kOpenings = 5;  // shared by the talks of a seed
constexpr std::size_t kStepsMin = 4;
constexpr std::size_t kStepsMore = 8;
constexpr std::size_t kSpread = 0x9e3779b97f4a7c15U;  // seeds of neighbours share no numbers

// Turns are what conversations mostly are.
constexpr std::array kMoves = {TalkMove::kTurn,   TalkMove::kTurn,    TalkMove::kTurn,
                               TalkMove::kTurn,   TalkMove::kAgain,   TalkMove::kEdit,
                               TalkMove::kBranch, TalkMove::kBranch,  TalkMove::kReturn,
                               TalkMove::kFanOut, TalkMove::kGivenUp, TalkMove::kSeveral};

Json message(const char* role, std::string text) {
  return {{"role", role}, {"content", std::move(text)}};
}

// From a few lines to a tenth of the context.
Json shared_opening(std::uint64_t seed, std::size_t which, TokenPos context) {
  MadeText text(seed * kSpread + which);
  const auto most = static_cast<std::size_t>(context) / kSentenceTokens / 10;
  const std::size_t sentences = std::min<std::size_t>(3 + most * which / kOpenings, 150);
  return message("system", "You are assistant number " + std::to_string(which) + ".\n" +
                               text.prose(sentences) + "\n" + text.fact().statement);
}

Json tool(const char* name, const char* about, const char* field) {
  const Json fields = {{field, {{"type", "string"}}}};
  return {{"type", "function"},
          {"function",
           {{"name", name},
            {"description", about},
            {"parameters",
             {{"type", "object"}, {"properties", fields}, {"required", Json::array({field})}}}}}};
}

Json settings_of(MadeText& text) {
  Json settings = {{"chat_template_kwargs", {{"enable_thinking", text.once_in(3)}}}};
  if (text.once_in(3)) {
    settings["tools"] = Json::array({tool("get_weather", "The weather in a town", "town"),
                                     tool("read_file", "The text of a file", "path")});
  }
  return settings;
}

TalkStep make_step(MadeText& text, TalkMove move) {
  TalkStep step{.move = move, .where = text.below(1000)};
  const std::size_t texts = move == TalkMove::kFanOut ? 2 + text.below(3) : 1;
  for (std::size_t i = 0; i < texts; ++i) step.texts.push_back(text.message());
  step.max_tokens = 4 + static_cast<int>(text.below(30));
  step.calls = text.once_in(2);
  if (move == TalkMove::kGivenUp) step.patience_ms = 5 + static_cast<int>(text.below(400));
  return step;
}

}  // namespace

const char* name_of(TalkMove move) {
  switch (move) {
    case TalkMove::kTurn: return "turn";
    case TalkMove::kAgain: return "the same again";
    case TalkMove::kEdit: return "edit";
    case TalkMove::kBranch: return "branch";
    case TalkMove::kReturn: return "return to a branch";
    case TalkMove::kFanOut: return "fan-out";
    case TalkMove::kGivenUp: return "given up, asked again";
    case TalkMove::kSeveral: return "two choices";
  }
  return "turn";
}

TalkScript make_script(std::uint64_t seed, std::uint64_t number, TokenPos context) {
  TalkScript script;
  script.seed = (seed + 1) * kSpread + number;
  MadeText text(script.seed);
  script.opening = Json::array({shared_opening(seed, text.below(kOpenings), context)});
  script.settings = settings_of(text);
  script.sends_thoughts = text.once_in(3);
  script.steps.push_back(make_step(text, TalkMove::kTurn));
  for (std::size_t left = kStepsMin + text.below(kStepsMore); left > 0; --left) {
    script.steps.push_back(make_step(text, kMoves[text.below(kMoves.size())]));
  }
  return script;
}

}  // namespace holdfast::cli
