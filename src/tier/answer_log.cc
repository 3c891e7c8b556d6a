#include "tier/answer_log.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "base/hash.h"

namespace holdfast::tier {

namespace {

constexpr std::string_view kMagic = "HFANSW2\n";
constexpr std::string_view kUnnamedMagic = "HFANSW1\n";  // read, no longer written
constexpr const char* kFolder = "answers";
constexpr const char* kSuffix = ".hfa";

// A record: length of what follows the checksum, its checksum, then these and the ids.
struct Head {
  std::uint32_t bytes = 0;
  std::uint32_t unused = 0;
  std::uint64_t checksum = 0;
};
struct Fixed {
  std::uint64_t key = 0;
  std::uint64_t space_high = 0, space_low = 0;
  std::uint64_t opening_bytes = 0, text_bytes = 0;
  // Not in records of the first version.
  std::uint64_t opening_hash = 0;
  std::array<std::byte, AnswerName::kBytes> name{};
  std::uint32_t unused = 0;
};
constexpr std::size_t kUnnamedFixedBytes = offsetof(Fixed, opening_hash);
constexpr std::size_t kRecordBytesMax = std::size_t{32} << 20;

template <typename T>
void append_bytes(std::vector<std::byte>& out, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::string file_name(std::uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 8 - std::min<std::size_t>(8, digits.size()), '0');
  return std::string(kFolder) + "/" + digits + kSuffix;
}

// Names that are none are left alone.
bool is_log(const FolderEntry& entry) {
  const std::string& name = entry.name;
  return entry.kind == FolderEntry::Kind::kFile && name.size() == 12 && name.ends_with(kSuffix) &&
         std::all_of(name.begin(), name.begin() + 8, [](char c) { return c >= '0' && c <= '9'; });
}

// Numbers of the files that are there, ascending.
std::vector<std::uint64_t> numbers(FileSystem& files) {
  std::vector<std::uint64_t> found;
  const auto listed = uninterrupted([&] { return files.list(kFolder); });
  if (!listed.ok()) return found;
  for (const FolderEntry& entry : listed.value) {
    if (is_log(entry)) found.push_back(std::stoull(entry.name.substr(0, 8)));
  }
  std::ranges::sort(found);
  return found;
}

std::optional<std::vector<std::byte>> whole_file(FileSystem& files, const std::string& path) {
  auto opened = uninterrupted([&] { return files.open(path); });
  if (!opened.ok()) return std::nullopt;
  FileSource source(*opened.value);
  const ByteCount size = std::min(source.size(), AnswerLog::kFileBytesMax);
  std::vector<std::byte> bytes(size);
  if (!source.read(0, bytes)) return std::nullopt;
  return bytes;
}

std::optional<AnswerFormat> format_of(std::span<const std::byte> file) {
  const auto begins_with = [&](std::string_view magic) {
    return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
  };
  if (begins_with(kMagic)) return AnswerFormat::kNamed;
  if (begins_with(kUnnamedMagic)) return AnswerFormat::kUnnamed;
  return std::nullopt;
}

}  // namespace

std::vector<std::byte> encode_answer(const RememberedAnswer& answer) {
  std::vector<std::byte> body;
  append_bytes(body, Fixed{answer.key, answer.space.high, answer.space.low, answer.opening_bytes,
                           answer.text_bytes, answer.opening_hash, answer.name.bytes});
  const auto ids = std::as_bytes(std::span(answer.ids));
  body.insert(body.end(), ids.begin(), ids.end());
  std::vector<std::byte> record;
  append_bytes(record, Head{static_cast<std::uint32_t>(body.size()), 0, hash_bytes(body)});
  record.insert(record.end(), body.begin(), body.end());
  return record;
}

std::vector<RememberedAnswer> decode_answers(std::span<const std::byte> bytes,
                                             AnswerFormat format) {
  const std::size_t fixed_bytes =
      format == AnswerFormat::kNamed ? sizeof(Fixed) : kUnnamedFixedBytes;
  std::vector<RememberedAnswer> answers;
  while (bytes.size() >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, bytes.data(), sizeof(head));
    bytes = bytes.subspan(sizeof(head));
    const bool plausible = head.bytes > fixed_bytes && head.bytes <= kRecordBytesMax &&
                           (head.bytes - fixed_bytes) % sizeof(Token) == 0;
    if (!plausible || head.bytes > bytes.size()) break;
    const auto body = bytes.first(head.bytes);
    if (hash_bytes(body) != head.checksum) break;
    Fixed fixed;
    std::memcpy(&fixed, body.data(), fixed_bytes);
    RememberedAnswer& answer = answers.emplace_back();
    answer.key = fixed.key;
    answer.space = {fixed.space_high, fixed.space_low};
    answer.opening_bytes = fixed.opening_bytes;
    answer.text_bytes = fixed.text_bytes;
    answer.opening_hash = fixed.opening_hash;
    answer.name.bytes = fixed.name;
    answer.ids.resize((head.bytes - fixed_bytes) / sizeof(Token));
    std::memcpy(answer.ids.data(), body.data() + fixed_bytes, head.bytes - fixed_bytes);
    bytes = bytes.subspan(head.bytes);
  }
  return answers;
}

void AnswerLog::read(FileSystem& files, const std::function<void(RememberedAnswer)>& take) {
  for (const std::uint64_t number : numbers(files)) {
    const auto bytes = whole_file(files, file_name(number));
    const auto format = bytes ? format_of(*bytes) : std::nullopt;
    if (!format) continue;
    const auto records = std::span(*bytes).subspan(kMagic.size());
    for (RememberedAnswer& answer : decode_answers(records, *format)) {
      take(std::move(answer));
    }
  }
}

// All that can be removed is, whatever fails.
Result<ByteCount> AnswerLog::erase(FileSystem& files) {
  const auto listed = uninterrupted([&] { return files.list(kFolder); });
  if (listed.error == ENOENT) return ByteCount{0};
  int failed = listed.error;
  ByteCount bytes = 0;
  for (const FolderEntry& entry : listed.value) {
    if (!is_log(entry)) continue;
    const std::string path = std::string(kFolder) + "/" + entry.name;
    const int error = uninterrupted([&] { return files.remove(path); });
    if (error != 0 && error != ENOENT) failed = error;
    bytes += entry.bytes;
  }
  const int synced = uninterrupted([&] { return files.sync_folder(kFolder); });
  if (failed == 0) failed = synced;
  if (failed != 0) return io_error("the files of answers cannot be removed", failed);
  return bytes;
}

Result<std::unique_ptr<AnswerLog>> AnswerLog::begin(FileSystem& files,
                                                    std::span<const RememberedAnswer> answers) {
  int made = uninterrupted([&] { return files.make_folder(kFolder); });
  if (made == 0) made = uninterrupted([&] { return files.sync_folder(""); });
  if (made != 0 && made != EEXIST) return io_error("the folder of answers cannot be made", made);
  const std::vector<std::uint64_t> old = numbers(files);
  const std::string path = file_name(old.empty() ? 1 : old.back() + 1);
  auto file = uninterrupted([&] { return files.create(path); });
  if (!file.ok()) return io_error("a file of answers cannot be made", file.error);
  std::vector<std::byte> bytes(kMagic.size());
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  for (const RememberedAnswer& answer : answers) {
    const auto record = encode_answer(answer);
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  const std::span<const std::byte> pieces[] = {bytes};
  int failed = append_all(*file.value, pieces);
  if (failed == 0) failed = uninterrupted([&] { return file.value->sync(); });
  if (failed == 0) failed = uninterrupted([&] { return files.sync_folder(kFolder); });
  if (failed != 0) {
    static_cast<void>(uninterrupted([&] { return files.remove(path); }));
    return io_error("a file of answers cannot be written", failed);
  }
  for (const std::uint64_t number : old) {
    static_cast<void>(uninterrupted([&] { return files.remove(file_name(number)); }));
  }
  return std::unique_ptr<AnswerLog>(new AnswerLog(std::move(file.value), bytes.size()));
}

bool AnswerLog::has_room_for(const RememberedAnswer& answer) const {
  return size_ + sizeof(Head) + sizeof(Fixed) + answer.ids.size() * sizeof(Token) <= kFileBytesMax;
}

Result<void> AnswerLog::append(const RememberedAnswer& answer) {
  if (!has_room_for(answer)) return Error{ErrorCode::kIo, "the file of answers is full", {}};
  const auto record = encode_answer(answer);
  const std::span<const std::byte> pieces[] = {record};
  if (const int failed = append_all(*file_, pieces); failed != 0) {
    size_ = kFileBytesMax;  // what follows a torn record would not be read
    return io_error("an answer cannot be appended", failed);
  }
  size_ += record.size();
  return {};
}

}  // namespace holdfast::tier
