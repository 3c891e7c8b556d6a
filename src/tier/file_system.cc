#include "tier/file_system.h"

#include <algorithm>
#include <cstring>

namespace holdfast::tier {

Error io_error(const std::string& what, int number) {
  ErrorCode code = ErrorCode::kIo;
  if (number == ENOENT) code = ErrorCode::kNotFound;
  if (number == EDQUOT) code = ErrorCode::kTooLarge;
  return {code, what + ": " + std::strerror(number), {}};
}

int append_all(OpenFile& file, Pieces pieces) {
  std::vector<std::span<const std::byte>> left;
  for (const auto piece : pieces) {
    if (!piece.empty()) left.push_back(piece);
  }
  for (std::size_t at = 0; at < left.size();) {
    const auto taken = uninterrupted([&] { return file.append(Pieces(left).subspan(at)); });
    if (!taken.ok()) return taken.error;
    std::size_t bytes = taken.value;
    if (bytes == 0) return EIO;
    while (at < left.size() && bytes >= left[at].size()) bytes -= left[at++].size();
    if (bytes > 0) left[at] = left[at].subspan(bytes);
  }
  return 0;
}

int write_file(FileSystem& files, const std::string& path, Pieces pieces) {
  auto file = uninterrupted([&] { return files.create(path); });
  if (!file.ok()) return file.error;
  int error = append_all(*file.value, pieces);
  if (error == 0) error = uninterrupted([&] { return file.value->sync(); });
  file.value.reset();
  if (error != 0) static_cast<void>(uninterrupted([&] { return files.remove(path); }));
  return error;
}

Result<void> FileSource::read(ByteCount offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const auto got = uninterrupted([&] { return file_.read_at(offset, out); });
    if (!got.ok()) return io_error("it cannot be read", got.error);
    if (got.value == 0) return Error{ErrorCode::kIo, "it became shorter while it was read", {}};
    out = out.subspan(got.value);
    offset += got.value;
  }
  return {};
}

Result<std::string> read_text(FileSystem& files, const std::string& path, std::size_t bytes_max) {
  auto file = uninterrupted([&] { return files.open(path); });
  if (!file.ok()) return io_error(path + " cannot be opened", file.error);
  FileSource source(*file.value);
  std::string text(std::min<ByteCount>(source.size(), bytes_max), '\0');
  if (auto read = source.read(0, std::as_writable_bytes(std::span(text))); !read)
    return read.error();
  return text;
}

}  // namespace holdfast::tier
