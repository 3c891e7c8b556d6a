#include "engine/llama/local_time.h"

#include <dlfcn.h>

#include <ctime>

// Goes before libc's (local_time.h).
extern "C" std::tm* localtime(const std::time_t* time) noexcept {
  static thread_local std::tm parts;
  return localtime_r(time, &parts);
}

namespace holdfast::llama {

bool owns_local_time() {
  return dlsym(RTLD_DEFAULT, "localtime") == reinterpret_cast<void*>(&::localtime);
}

}  // namespace holdfast::llama
