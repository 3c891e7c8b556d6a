#include "env/program_path.h"

#include <filesystem>

namespace holdfast::env {

std::string program_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

}  // namespace holdfast::env
