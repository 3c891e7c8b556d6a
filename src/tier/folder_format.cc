#include "tier/folder_format.h"

#include <algorithm>
#include <string>

namespace holdfast::tier {

namespace {

constexpr std::string_view kFormat = "holdfast cache 1\n";
constexpr std::string_view kFormatOfAnyVersion = "holdfast cache ";
constexpr std::size_t kFormatBytesMax = 64;
constexpr const char* kFolders[] = {"blobs", "tmp", "quarantine"};

Error refusal(std::string why) { return {ErrorCode::kUnsupported, std::move(why), {}}; }

// What may lie in a folder before its FORMAT does.
bool may_precede_format(const FolderEntry& entry) {
  return entry.name == "lock" || entry.name == "FORMAT.new";
}

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

// Before anything else is in the folder, and whole or not at all.
Result<void> write_format(FileSystem& files) {
  static_cast<void>(uninterrupted([&] { return files.remove("FORMAT.new"); }));
  const std::span<const std::byte> piece = std::as_bytes(std::span(kFormat));
  int error = write_file(files, "FORMAT.new", Pieces(&piece, 1));
  if (error == 0) error = uninterrupted([&] { return files.rename("FORMAT.new", "FORMAT"); });
  if (error == 0) error = uninterrupted([&] { return files.sync_folder(""); });
  if (error != 0) return io_error("the cache folder cannot be written to", error);
  return {};
}

Result<void> make_usable(FileSystem& files, const std::string& name) {
  const int error = uninterrupted([&] { return files.make_folder(name); });
  if (error != 0 && error != EEXIST)
    return io_error("the cache's folder " + name + " cannot be made", error);
  const auto listed = uninterrupted([&] { return files.list(name); });
  if (!listed.ok()) return io_error("the cache's folder " + name + " cannot be used", listed.error);
  return {};
}

}  // namespace

Result<FolderKind> inspect_folder(FileSystem& files) {
  const auto text = read_text(files, "FORMAT", kFormatBytesMax);
  if (text && *text == kFormat) return FolderKind::kOurs;
  if (text && text->starts_with(kFormatOfAnyVersion))
    return refusal("the cache folder " + files.root() + " was made by another version (\"" +
                   first_line(*text) + "\"); give this one a folder of its own, or delete that");
  if (text) return refusal(files.root() + " is not a cache folder: its FORMAT is another's");
  if (text.error().code != ErrorCode::kNotFound) return text.error();
  const auto listed = uninterrupted([&] { return files.list(""); });
  if (!listed.ok())
    return io_error("the folder " + files.root() + " cannot be listed", listed.error);
  if (!std::ranges::all_of(listed.value, may_precede_format))
    return refusal(files.root() + " is not a cache folder: it holds other things and no FORMAT; " +
                   "a new cache wants an empty folder");
  return FolderKind::kNew;
}

Result<void> prepare_folder(FileSystem& files, FolderKind kind) {
  if (kind == FolderKind::kNew) {
    if (auto written = write_format(files); !written) return written.error();
  }
  static_cast<void>(uninterrupted([&] { return files.remove("FORMAT.new"); }));
  for (const char* name : kFolders) {
    if (auto made = make_usable(files, name); !made) return made.error();
  }
  for (const char* name : {"", "blobs"}) {
    if (const int error = uninterrupted([&] { return files.sync_folder(name); }); error != 0)
      return io_error("the cache folder cannot be synced", error);
  }
  return {};
}

Result<std::unique_ptr<FileLock>> take_folder(FileSystem& files, StoreRole wanted) {
  using Lock = std::unique_ptr<FileLock>;
  const auto folder = inspect_folder(files);
  if (!folder) return folder.error();
  if (wanted == StoreRole::kReader) {
    if (*folder == FolderKind::kNew)
      return Error{ErrorCode::kNotFound, "there is no cache in " + files.root(), {}};
    return Lock();
  }
  auto held = uninterrupted([&] { return files.lock("lock"); });
  const bool reader = held.error == EWOULDBLOCK || (*folder == FolderKind::kOurs &&
                                                    (held.error == EROFS || held.error == EACCES));
  if (reader) return Lock();
  if (!held.ok()) return io_error("the cache folder cannot be locked", held.error);
  const auto again = inspect_folder(files);  // another may have been making it until now
  if (!again) return again.error();
  if (auto prepared = prepare_folder(files, *again); !prepared) return prepared.error();
  return std::move(held.value);
}

void mend_folder(FileSystem& files) {
  const auto text = read_text(files, "FORMAT", kFormatBytesMax);
  if (!text && text.error().code == ErrorCode::kNotFound) static_cast<void>(write_format(files));
  for (const char* name : kFolders)
    static_cast<void>(uninterrupted([&] { return files.make_folder(name); }));
  static_cast<void>(uninterrupted([&] { return files.sync_folder(""); }));
}

}  // namespace holdfast::tier
