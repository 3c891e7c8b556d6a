#include "cli/option_sources.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace holdfast::cli {
namespace {

// What no higher source overrides, lowest source first.
Assignments strongest(Assignments all) {
  std::map<const Option*, OptionSource> highest;
  for (const Assignment& given : all) {
    OptionSource& source = highest.try_emplace(given.option, given.source).first->second;
    source = std::max(source, given.source);
  }
  std::erase_if(all, [&](const Assignment& a) { return a.source != highest.at(a.option); });
  std::stable_sort(all.begin(), all.end(),
                   [](const Assignment& a, const Assignment& b) { return a.source < b.source; });
  return all;
}

std::string config_path_of(const Assignments& given) {
  const Option* const config = find_option("--config").value().option;
  std::string path;
  for (const Assignment& assignment : strongest(given)) {
    if (assignment.option == config) path = assignment.value;
  }
  return path;
}

// Everything given, in all sources.
Result<Assignments> gather(std::span<const std::string> args, const Environment& env,
                           const FileReader& files) {
  auto given = from_arguments(args);
  if (!given) return given.error();
  Assignments all = std::move(given).value();
  std::ranges::move(from_environment(env), std::back_inserter(all));
  const std::string path = config_path_of(all);
  if (path.empty()) return all;
  auto config = from_config(path, files);
  if (!config) return config.error();
  std::ranges::move(config.value(), std::back_inserter(all));
  return all;
}

}  // namespace

Result<Assignments> gather_assignments(std::span<const std::string> args, const Environment& env,
                                       const FileReader& files) {
  auto all = gather(args, env, files);
  if (!all) return all;
  return strongest(std::move(all).value());
}

}  // namespace holdfast::cli
