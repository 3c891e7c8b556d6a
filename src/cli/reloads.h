// Reloads: what a server loads again when it gets SIGHUP: its log file (after a rotation), its TLS
// certificate, and whatever else adds itself. The rest of the options stays as at the start.
//
// REQUIRES: add() before the thread that calls run() starts.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace holdfast::cli {

class Reloads {
 public:
  // An Error of `reload` has changed nothing: what was in use stays.
  void add(std::string what, std::function<Result<void>()> reload) {
    all_.push_back({std::move(what), std::move(reload)});
  }
  // All of them, in order; the log says what was loaded and what was not.
  void run() const;

 private:
  struct One {
    std::string what;  // "the TLS certificate"
    std::function<Result<void>()> reload;
  };
  std::vector<One> all_;
};

}  // namespace holdfast::cli
