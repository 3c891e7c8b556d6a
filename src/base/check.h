// CHECK stops the program when we ourselves are wrong. It stays on in release
// builds: a server that serves a wrong state is worse than one that stops.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace holdfast {

[[noreturn]] inline void check_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, what);
  std::fflush(stderr);
  std::abort();
}

}  // namespace holdfast

#define CHECK(condition)                                        \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::holdfast::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
