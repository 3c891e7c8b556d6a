#include "cli/cache_dir.h"

namespace holdfast::cli {

namespace {

std::string value_of(const Environment& env, const char* name) {
  const auto found = env.find(name);
  return found != env.end() ? found->second : "";
}

}  // namespace

std::string default_cache_dir(const Environment& env) {
  if (std::string folder = value_of(env, "HOLDFAST_CACHE_DIR"); !folder.empty()) return folder;
  const std::string caches = value_of(env, "XDG_CACHE_HOME");
  if (caches.starts_with('/')) return caches + "/holdfast/states";
  const std::string home = value_of(env, "HOME");
  return home.empty() ? "" : home + "/.cache/holdfast/states";
}

}  // namespace holdfast::cli
