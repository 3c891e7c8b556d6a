// Completion at the Tab key, written from the same tables as --help: `holdfast completion bash`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace holdfast::cli {

struct CompletedOption {
  std::string name;                 // "--model" or "-m": one of several is an entry of its own
  std::string help;                 // its first sentence
  std::string value;                // what is asked for; empty: a flag
  std::vector<std::string> values;  // what there is to choose from; empty: anything
  bool path = false;                // the value is a file or a folder
};

struct CompletedWord {
  std::string word;
  std::string about;
};

struct CompletedCommand {
  std::string name;
  std::string about;
  std::vector<CompletedOption> options;
  std::vector<CompletedWord> words;  // sub-commands, agents
  bool files = false;                // files may follow
};

// All commands of the program. A command that understands another's options has them too.
[[nodiscard]] std::vector<CompletedCommand> completed_commands();

// The scripts, each for the shell's own way of completing.
[[nodiscard]] std::string bash_completion(std::span<const CompletedCommand> commands);
[[nodiscard]] std::string zsh_completion(std::span<const CompletedCommand> commands);
[[nodiscard]] std::string fish_completion(std::span<const CompletedCommand> commands);

// What `holdfast completion SHELL` prints. An Error is one sentence.
[[nodiscard]] Result<std::string> completion(std::span<const std::string> args);

}  // namespace holdfast::cli
