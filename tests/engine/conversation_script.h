// A conversation that comes back to its states in every way there is, in one slot:
// prompts, and the answers that they get without a companion.
#pragma once

#include <string>
#include <vector>

#include "speculation_rig.h"

namespace holdfast {

// The pieces of conversations, as tokens.
struct Script {
  Tokens system, first, second, third, branch, edited, other;
  Tokens header;  // opens an answer
  Tokens end;     // closes it
};

inline std::string message(const std::string& role, const std::string& text) {
  return "<|im_start|>" + role + "\n" + text + "<|im_end|>\n";
}

inline std::string story(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) {
    text += "The secret code of house " + std::to_string(i) + " is " +
            std::to_string(10000 + 37 * i) + ". ";
  }
  return text;
}

inline Script pieces_of(const std::string& name, const engine::TextModel& text) {
  if (name != "pocket") {
    Tokens edited = turn(150, 2);
    edited[110] = (edited[110] + 1) % 256;
    return {turn(90, 1), turn(150, 2), turn(70, 3),         turn(30, 7), turn(100, 4),
            edited,      turn(180, 5), random_tokens(3, 9), {kTurnEnd}};
  }
  const auto tokens = [&](const std::string& one) { return text.tokenize(one, true, true); };
  const std::string long_text = story(1, 12);
  std::string edited = long_text;
  edited.replace(edited.rfind("10"), 2, "99");
  return {tokens(message("system", "You are a helpful assistant. " + story(50, 54))),
          tokens(message("user", long_text + "What is the secret code of house 7?")),
          tokens(message("user", "My dog is called Bruno. What is my dog called?")),
          tokens(message("user", "Count from 1 to 20.")),
          tokens(message("user", "Write a short story about a ship and a storm.")),
          tokens(message("user", edited + "What is the secret code of house 7?")),
          tokens(message("user", story(80, 95) + "What is the secret code of house 90?")),
          tokens("<|im_start|>assistant\n<think>\n\n</think>\n\n"),
          tokens("<|im_end|>\n")};
}

enum class Ending { kMaxTokens, kStopString };

struct Step {
  const char* name;
  Tokens prompt;
  std::vector<std::string> stops;
  Tokens without_end;  // the answer if nothing but its length ended it
  HeardPtr alone;      // the answer without a companion
};

inline HeardPtr run_step(SpeculatingServer& server, const Step& step, TokenPos tokens) {
  auto request = server.request(step.prompt, tokens);
  request.stops = step.stops;
  return server.run(std::move(request));
}

inline std::vector<Step> converse_without(const std::string& name, TokenPos tokens,
                                          Ending ending = Ending::kMaxTokens) {
  auto model = load_model(name, Drafting::kOff);
  auto other = load_model(name, Drafting::kOff);
  SpeculatingServer server(model);
  const Script p = pieces_of(name, *model.text);
  std::vector<Step> steps;
  const auto say = [&](const char* what, const Tokens& history) {
    Step step{.name = what, .prompt = history + p.header};
    if (ending == Ending::kStopString) {
      const auto whole = SpeculatingServer(other).run(step.prompt, tokens);
      step.without_end = whole->tokens();
      step.stops = {whole->text.substr(whole->text.size() / 2, 4)};
    }
    step.alone = run_step(server, step, tokens);
    steps.push_back(step);
    return step.prompt + step.alone->tokens() + p.end;
  };
  const Tokens one = say("first", p.system + p.first);
  const Tokens two = say("continue", one + p.second);
  const Tokens branch = say("branch", one + p.branch);
  const Tokens three = say("return to the first branch", two + p.third);
  say("edit in the middle", p.system + p.edited);
  say("another conversation", p.other);
  say("reload from memory", three + p.second);
  say("regenerate", three + p.second);
  say("return to the other branch", branch + p.third);
  say("begin of a longer one", p.system + p.first);
  return steps;
}

}  // namespace holdfast
