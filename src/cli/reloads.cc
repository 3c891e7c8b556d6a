#include "cli/reloads.h"

#include "env/log.h"

namespace holdfast::cli {

void Reloads::run() const {
  if (all_.empty()) env::Log::info("SIGHUP: there is nothing to load again");
  for (const One& one : all_) {
    if (const auto done = one.reload(); done) {
      env::Log::info("loaded again: " + one.what);
    } else {
      env::Log::warn("could not be loaded again: " + one.what + " (" + done.error().message +
                     "); the old one stays in use");
    }
  }
}

}  // namespace holdfast::cli
