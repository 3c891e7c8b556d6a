#include "tier/response_files.h"

#include <algorithm>
#include <span>

namespace holdfast::tier {

namespace {

constexpr const char* kFolder = "responses";
constexpr std::string_view kSuffix = ".hfr";
constexpr std::size_t kDigits = 12;  // a thousand a second for thirty years

std::string file_name(std::uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return std::string(kFolder) + "/" + digits.append(kSuffix);
}

// Names that are none are left alone.
bool is_response(const FolderEntry& entry) {
  const std::string& name = entry.name;
  return entry.kind == FolderEntry::Kind::kFile && name.size() == kDigits + kSuffix.size() &&
         name.ends_with(kSuffix) && std::all_of(name.begin(), name.begin() + kDigits, [](char c) {
           return c >= '0' && c <= '9';
         });
}

// A folder that is missing is empty.
Io<std::vector<FolderEntry>> list(FileSystem& files) {
  auto listed = uninterrupted([&] { return files.list(kFolder); });
  if (listed.error == ENOENT) return std::vector<FolderEntry>{};
  std::erase_if(listed.value, [](const FolderEntry& entry) { return !is_response(entry); });
  std::ranges::sort(listed.value, {}, &FolderEntry::name);
  return listed;
}

Result<std::vector<std::byte>> whole_file(FileSystem& files, const std::string& path) {
  auto opened = uninterrupted([&] { return files.open(path); });
  if (!opened.ok()) return io_error(path + " cannot be opened", opened.error);
  FileSource source(*opened.value);
  if (source.size() > ResponseFiles::kFileBytesMax) return std::vector<std::byte>{};
  std::vector<std::byte> bytes(source.size());
  if (auto read = source.read(0, bytes); !read) return read.error();
  return bytes;
}

int make_folder(FileSystem& files) {
  const int made = uninterrupted([&] { return files.make_folder(kFolder); });
  if (made == EEXIST) return 0;
  return made != 0 ? made : uninterrupted([&] { return files.sync_folder(""); });
}

}  // namespace

ResponseFiles::Survey ResponseFiles::read(
    const std::function<void(std::uint64_t, StoredResponse)>& take) const {
  Survey survey;
  const auto listed = list(*files_);
  if (!listed.ok()) survey.unread = io_error("responses cannot be listed", listed.error).message;
  for (const FolderEntry& entry : listed.value) {
    const std::uint64_t number = std::stoull(entry.name.substr(0, kDigits));
    survey.last_number = number;
    const auto bytes = whole_file(*files_, file_name(number));
    if (!bytes) {
      survey.unread = bytes.error().message;
    } else if (auto response = decode_response(*bytes)) {
      take(number, std::move(*response));
    } else {
      survey.damaged.push_back(number);
    }
  }
  return survey;
}

Result<void> ResponseFiles::write(std::uint64_t number, const StoredResponse& response) const {
  if (const int failed = make_folder(*files_); failed != 0)
    return io_error("the folder of responses cannot be made", failed);
  const std::string path = file_name(number);
  auto file = uninterrupted([&] { return files_->create(path); });
  if (!file.ok()) return io_error(path + " cannot be made", file.error);
  const auto bytes = encode_response(response);
  const std::span<const std::byte> pieces[] = {bytes};
  if (const int failed = append_all(*file.value, pieces); failed != 0) {
    static_cast<void>(uninterrupted([&] { return files_->remove(path); }));
    return io_error(path + " cannot be written", failed);
  }
  return {};
}

Result<void> ResponseFiles::remove(std::uint64_t number) const {
  const std::string path = file_name(number);
  const int failed = uninterrupted([&] { return files_->remove(path); });
  if (failed != 0 && failed != ENOENT) return io_error(path + " cannot be removed", failed);
  return {};
}

// All that can be removed is, whatever fails.
Result<ByteCount> ResponseFiles::erase() const {
  const auto listed = list(*files_);
  int failed = listed.error;
  ByteCount bytes = 0;
  for (const FolderEntry& entry : listed.value) {
    const std::string path = std::string(kFolder) + "/" + entry.name;
    const int error = uninterrupted([&] { return files_->remove(path); });
    if (error != 0 && error != ENOENT) failed = error;
    bytes += entry.bytes;
  }
  if (!listed.value.empty()) {
    const int synced = uninterrupted([&] { return files_->sync_folder(kFolder); });
    if (failed == 0) failed = synced;
  }
  if (failed != 0) return io_error("the files of responses cannot be removed", failed);
  return bytes;
}

}  // namespace holdfast::tier
