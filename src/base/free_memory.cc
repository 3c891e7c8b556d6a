#include "base/free_memory.h"

#include <cstdio>
#include <fstream>
#include <string>

namespace holdfast {

std::optional<std::uint64_t> free_memory() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kib) == 1) return kib * 1024;
  }
  return std::nullopt;
}

}  // namespace holdfast
