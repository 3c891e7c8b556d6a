#include "cli/folder_budget.h"

#include <filesystem>

namespace holdfast::cli {
namespace {

constexpr ByteCount kMebibyte = 1 << 20;
constexpr ByteCount kShareOfFree = 10;

// What the folder holds already. It may be asked before there is one.
ByteCount bytes_below(const std::string& folder) {
  ByteCount bytes = 0;
  std::error_code ended;
  for (std::filesystem::recursive_directory_iterator at(folder, ended), end; !ended && at != end;
       at.increment(ended)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && !at->is_symlink(ignored)) bytes += at->file_size(ignored);
  }
  return bytes;
}

}  // namespace

ByteCount folder_budget(const std::string& folder, std::int64_t mib) {
  if (mib >= 0) return static_cast<ByteCount>(mib) * kMebibyte;
  std::error_code unknown;
  std::filesystem::path existing = folder;
  while (!std::filesystem::exists(existing, unknown) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  const auto space = std::filesystem::space(existing, unknown);
  if (unknown) return 1024 * kMebibyte;
  return (space.available + bytes_below(folder)) / kShareOfFree / kMebibyte * kMebibyte;
}

}  // namespace holdfast::cli
