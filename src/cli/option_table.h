// The table of options: every option of `holdfast serve`, once.
//
// The command line, the environment, the config file and --help all follow from
// it. Its rows are in option_groups_*.cc. Immutable; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/option_kinds.h"

namespace holdfast::cli {

enum class Support {
  kFull,
  kCommandLineOnly,  // --help, --version
  kNoEffect,         // accepted, so that a llama-server command line works here
  kNone,             // refused with its reason, because ignoring it would mislead
};

struct Option {
  // "-m, --model": all names; those after " / " turn a flag off.
  std::string names;
  std::string value;      // its name in --help; empty: a flag
  std::string llama_env;  // llama-server's environment variable
  OptionKind kind;
  std::string help;          // what it does; for kNoEffect and kNone the reason
  std::string implied = {};  // the value when none is given; empty: one is needed
  Support support = Support::kFull;
};

struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

// In the order of --help. No two options share a name.
[[nodiscard]] const std::vector<OptionGroup>& option_table();

[[nodiscard]] inline bool is_flag(const Option& option) { return option.value.empty(); }

struct OptionNames {
  std::vector<std::string> on;
  std::vector<std::string> off;  // they turn a flag off
};
[[nodiscard]] OptionNames names_of(const Option& option);

struct NamedOption {
  const Option* option = nullptr;
  bool off = false;  // this name turns a flag off
};
// Underscores are read as dashes, as llama-server reads them.
[[nodiscard]] std::optional<NamedOption> find_option(std::string name);
// A flag's value by the name used: `no-mmap = true` means `mmap = false`.
[[nodiscard]] std::string flag_value(const NamedOption& named, const std::string& value);

// All names, in alphabetical order; the long ones are those with two dashes.
[[nodiscard]] std::vector<std::string> option_names();
[[nodiscard]] std::vector<std::string> long_option_names();

}  // namespace holdfast::cli
