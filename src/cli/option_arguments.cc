// Options from the command line.
#include <utility>

#include "cli/nearest_name.h"
#include "cli/option_sources.h"

namespace holdfast::cli {
namespace {

Error unknown_option(const std::string& name) {
  if (!name.starts_with('-')) {
    const std::string hint =
        name.ends_with(".gguf") ? "; did you mean --model " + name + "?" : "; options begin with -";
    return invalid_argument(name, "unexpected argument " + name + hint);
  }
  const std::string nearest = nearest_name(name, option_names());
  return invalid_argument(name, "unknown option " + name + did_you_mean(nearest, ""));
}

bool names_an_option(std::string argument) {
  return argument.starts_with('-') &&
         find_option(argument.substr(0, argument.find('='))).has_value();
}

// Reads one option at args[at], and moves `at` past it.
Result<Assignment> take_argument(std::span<const std::string> args, std::size_t& at) {
  const std::string& argument = args[at++];
  const auto equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
  const std::string name = argument.substr(0, equals);
  const auto named = find_option(name);
  if (!named) return unknown_option(name);
  Assignment taken{named->option, "", "option " + name, name, OptionSource::kCommandLine};
  if (equals != std::string::npos) {
    taken.value = flag_value(*named, argument.substr(equals + 1));
  } else if (is_flag(*named->option)) {
    taken.value = flag_value(*named, "on");
  } else if (at < args.size() && !names_an_option(args[at])) {
    taken.value = args[at++];
  } else if (!named->option->implied.empty()) {
    taken.value = named->option->implied;
  } else {
    return invalid_argument(
        name, "option " + name + " needs a value: " + name + " " + named->option->value);
  }
  return taken;
}

}  // namespace

Result<Assignments> from_arguments(std::span<const std::string> args) {
  Assignments all;
  for (std::size_t at = 0; at < args.size();) {
    auto taken = take_argument(args, at);
    if (!taken) return taken.error();
    all.push_back(std::move(taken).value());
  }
  return all;
}

}  // namespace holdfast::cli
