// Prompts of many kinds for the pocket model: questions as it was trained on, plain
// text, something like code, repetitions, long and short.
#pragma once

#include <string>
#include <vector>

#include "engine/text.h"

namespace holdfast {

inline std::string asked(const std::string& question) {
  return "<|im_start|>user\n" + question +
         "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
}

inline std::vector<std::string> varied_texts() {
  const std::vector<std::string> cities = {"Lisbon", "Oslo", "Paris", "Cairo", "Lima"};
  const std::vector<std::string> things = {"dog", "ship", "garden", "clock", "river"};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string& city = cities[i];
    const std::string& thing = things[i];
    const std::string number = std::to_string(1234 + 4711 * i);
    // Interleaved, so that the first few are of all kinds.
    texts.push_back(asked("The secret code of " + city + " is " + number +
                          ". What is the secret code of " + city + "?"));
    texts.push_back("The " + thing + " was old, and nobody in " + city + " knew");
    texts.push_back("def " + thing + "_" + std::to_string(i) + "(x):\n    y = x * " + number +
                    "\n    if y > 10:\n        return y\n");
    std::string again;
    for (int k = 0; k < 6; ++k) again += "one two three " + thing + " four five. ";
    texts.push_back(again);
    texts.push_back(asked("Please repeat this text: The quick brown " + thing + " went to " + city +
                          " and came back with " + number + " coins."));
    texts.push_back(asked("Count from " + std::to_string(i + 1) + " to 40."));
    texts.push_back(asked("What is the capital of " + cities[(i + 2) % 5] + "?"));
    texts.push_back(
        asked("Write a short story about a " + thing + " and a storm in " + city + "."));
    texts.push_back("{\"name\": \"" + thing + "\", \"city\": \"" + city +
                    "\", \"values\": [1, 2, ");
    std::string table = "| name | value |\n|---|---|\n";
    for (std::size_t k = 0; k < 10; ++k) {
      table += "| " + things[(i + k) % 5] + " | " + std::to_string(k * (i + 3)) + " |\n";
    }
    texts.push_back(table);
  }
  return texts;
}

// The first `count` of fifty.
inline std::vector<Tokens> varied_prompts(const engine::TextModel& text, std::size_t count) {
  std::vector<Tokens> prompts;
  for (const std::string& one : varied_texts()) {
    if (prompts.size() < count) prompts.push_back(text.tokenize(one, true, true));
  }
  return prompts;
}

}  // namespace holdfast
