#include "tier/answer_key.h"

#include <algorithm>
#include <string>

namespace holdfast::tier {

namespace {

constexpr const char* kFolder = "answers";
constexpr const char* kPath = "answers/key";
constexpr const char* kNewPath = "answers/key.new";

}  // namespace

Result<std::optional<Secret>> read_answer_key(FileSystem& files) {
  const std::optional<Secret> none;
  auto opened = uninterrupted([&] { return files.open(kPath); });
  if (opened.error == ENOENT) return none;
  if (!opened.ok()) return io_error("the key of answers' ids cannot be read", opened.error);
  FileSource source(*opened.value);
  Secret key{};
  if (source.size() != key.size()) return none;
  if (const auto read = source.read(0, key); !read) return read.error();
  const bool blank = std::ranges::all_of(key, [](std::byte one) { return one == std::byte{0}; });
  if (blank) return none;  // a crash can leave a file of zeros
  return std::optional(key);
}

Result<void> write_answer_key(FileSystem& files, const Secret& key) {
  int failed = uninterrupted([&] { return files.make_folder(kFolder); });
  if (failed == 0) failed = uninterrupted([&] { return files.sync_folder(""); });
  if (failed != 0 && failed != EEXIST) {
    return io_error("the folder of answers cannot be made", failed);
  }
  static_cast<void>(uninterrupted([&] { return files.remove(kNewPath); }));  // of a crash
  const std::span<const std::byte> pieces[] = {key};
  failed = write_file(files, kNewPath, pieces);
  if (failed == 0) failed = uninterrupted([&] { return files.rename(kNewPath, kPath); });
  if (failed == 0) failed = uninterrupted([&] { return files.sync_folder(kFolder); });
  if (failed != 0) return io_error("the key of answers' ids cannot be written", failed);
  return {};
}

}  // namespace holdfast::tier
