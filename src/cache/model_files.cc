#include "cache/model_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "cache/hash128.h"
#include "tier/space_note.h"

namespace holdfast::cache {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kWholeBytesMax = 64 * kMiB;
constexpr std::uint64_t kHeadBytes = 16 * kMiB;
constexpr std::uint64_t kTailBytes = kMiB;
constexpr std::uint64_t kPages = 4096;
constexpr std::uint64_t kPageBytes = 4096;

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// What is read of a file. Pages begin where the file system's do.
std::vector<ByteRange> sampled_ranges(std::uint64_t size) {
  if (size <= kWholeBytesMax) return {{0, size}};
  std::vector<ByteRange> ranges{{0, kHeadBytes}};
  const std::uint64_t middle = size - kHeadBytes - kTailBytes;
  for (std::uint64_t i = 0; i < kPages; ++i) {
    const std::uint64_t offset = middle / kPages * i + middle % kPages * i / kPages;
    const std::uint64_t begin = kHeadBytes + offset / kPageBytes * kPageBytes;
    ranges.push_back({begin, begin + kPageBytes});
  }
  ranges.push_back({size - kTailBytes, size});
  return ranges;
}

// --- which file it is, and when it was last written ------------------------------------

// Compared in whole nanoseconds; ctime moves with the name too, so it proves nothing alone.
struct Identity {
  dev_t device = 0;
  ino_t number = 0;
  off_t size = 0;
  std::int64_t written_ns = 0;
  std::int64_t changed_ns = 0;

  explicit Identity(const struct stat& status)
      : device(status.st_dev),
        number(status.st_ino),
        size(status.st_size),
        written_ns(status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec),
        changed_ns(status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec) {}
  Identity() = default;

  [[nodiscard]] bool same_file(const Identity& other) const {
    return device == other.device && number == other.number;
  }
  [[nodiscard]] bool same_content_times(const Identity& other) const {
    return size == other.size && written_ns == other.written_ns;
  }
};

// --- the names of parts -------------------------------------------------------------------

constexpr std::string_view kPartSuffix = "-00001-of-00001.gguf";

// The number that five digits spell, 0 for anything else.
int number_of(std::string_view digits) {
  int number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return 0;
    number = number * 10 + (digit - '0');
  }
  return number;
}

std::string five_digits(int number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - digits.size(), '0') + digits;
}

// The files of a model, in the order of their numbers.
std::vector<std::string> parts_of(const std::string& path) {
  if (path.size() <= kPartSuffix.size()) return {path};
  const std::string stem = path.substr(0, path.size() - kPartSuffix.size());
  const std::string_view suffix = std::string_view(path).substr(stem.size());
  const auto name_of = [&](int part, int count) {
    return stem + "-" + five_digits(part) + "-of-" + five_digits(count) + ".gguf";
  };
  const int own = number_of(suffix.substr(1, 5));
  const int count = number_of(suffix.substr(10, 5));
  if (own < 1 || own > count || name_of(own, count) != path) return {path};
  std::vector<std::string> parts;
  for (int i = 1; i <= count; ++i) parts.push_back(name_of(i, count));
  return parts;
}

}  // namespace

// --- one file ---------------------------------------------------------------------------------

class ModelFiles::File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}
  File(File&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), opened_(other.opened_) {}
  File& operator=(File&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    std::swap(opened_, other.opened_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }

  [[nodiscard]] Result<void> open_for_reading() {
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block
    struct stat status {};
    if (fd_ < 0 || fstat(fd_, &status) != 0) return failure(errno);
    if (!S_ISREG(status.st_mode)) {
      return Error{ErrorCode::kInvalidArgument, "'" + path_ + "' is not a file.", ""};
    }
    opened_ = Identity(status);
    return {};
  }

  [[nodiscard]] Result<void> hash_into(Hash128& hash) const {
    const auto size = static_cast<std::uint64_t>(opened_.size);
    // Without this the kernel reads far more than each page.
    if (size > kWholeBytesMax) (void)posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);
    hash.number(size);
    std::vector<std::byte> buffer(kMiB);
    for (const ByteRange range : sampled_ranges(size)) {
      if (auto read = hash_range(range, buffer, hash); !read) return read;
    }
    return {};
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  // Leads to this very file, whatever its path leads to. Empty: the system has no such names.
  [[nodiscard]] std::string descriptor_name() const {
    const std::string name = "/proc/self/fd/" + std::to_string(fd_);
    struct stat status {};
    const bool leads_here =
        ::stat(name.c_str(), &status) == 0 && Identity(status).same_file(opened_);
    return leads_here ? name : "";
  }
  [[nodiscard]] bool path_leads_here() const {
    struct stat status {};
    return ::stat(path_.c_str(), &status) == 0 && Identity(status).same_file(opened_);
  }
  [[nodiscard]] Result<Identity> identity_now() const {
    struct stat status {};
    if (fstat(fd_, &status) != 0) return failure(errno);
    return Identity(status);
  }
  [[nodiscard]] const Identity& identity_at_open() const { return opened_; }

 private:
  [[nodiscard]] Result<void> hash_range(ByteRange range, std::span<std::byte> buffer,
                                        Hash128& hash) const {
    while (range.begin < range.end) {
      const std::uint64_t wanted = std::min<std::uint64_t>(buffer.size(), range.end - range.begin);
      const ssize_t got = pread(fd_, buffer.data(), wanted, static_cast<off_t>(range.begin));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failure(errno);
      if (got == 0) {
        return Error{ErrorCode::kIo, "'" + path_ + "' became shorter while it was read.", ""};
      }
      hash.bytes(buffer.first(static_cast<std::size_t>(got)));
      range.begin += static_cast<std::uint64_t>(got);
    }
    return {};
  }
  [[nodiscard]] Error failure(int number) const {
    const ErrorCode code = number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return {code, "'" + path_ + "' cannot be read: " + std::strerror(number) + ".", ""};
  }

  std::string path_;
  int fd_ = -1;
  Identity opened_;
};

// --- all of them --------------------------------------------------------------------------------

namespace {

Error written_meanwhile(const std::string& path) {
  return {ErrorCode::kIo,
          "'" + path + "' was changed while it was being loaded. Start again once it is complete.",
          "--model"};
}

Error replaced_meanwhile(const std::string& path) {
  return {
      ErrorCode::kIo,
      "'" + path + "' was replaced while it was being loaded. Start again to serve the new one.",
      "--model"};
}

}  // namespace

ModelFiles::ModelFiles(FileNaming naming) : naming_(naming) {}
ModelFiles::ModelFiles(ModelFiles&& other) noexcept = default;
ModelFiles& ModelFiles::operator=(ModelFiles&& other) noexcept = default;
ModelFiles::~ModelFiles() = default;

Result<ModelFiles> ModelFiles::open(const std::string& path, FileNaming naming) {
  ModelFiles opened(naming);
  for (const std::string& part : parts_of(path)) {
    File file(part);
    if (auto readable = file.open_for_reading(); !readable) return readable.error();
    opened.files_.push_back(std::move(file));
  }
  // All or none: names of both kinds would be hard to reason about.
  const auto nameless = [](const File& file) { return file.descriptor_name().empty(); };
  if (std::ranges::any_of(opened.files_, nameless)) opened.naming_ = FileNaming::kByPath;
  return opened;
}

Result<std::string> ModelFiles::digest() const {
  Hash128 hash;
  hash.number(files_.size());
  for (const File& file : files_) {
    if (auto read = file.hash_into(hash); !read) return read.error();
  }
  const std::string hex = tier::hex_of(hash.digest());
  if (digest_.empty()) digest_ = hex;
  return hex;
}

std::vector<std::string> ModelFiles::engine_names() const {
  std::vector<std::string> names;
  for (const File& file : files_) {
    names.push_back(naming_ == FileNaming::kByPath ? file.path() : file.descriptor_name());
  }
  return names;
}

Result<void> ModelFiles::check_unchanged() const {
  bool times_moved = false;
  for (const File& file : files_) {
    const auto now = file.identity_now();
    if (!now) return now.error();
    if (!now->same_content_times(file.identity_at_open())) return written_meanwhile(file.path());
    const bool moved = now->changed_ns != file.identity_at_open().changed_ns;
    if (naming_ == FileNaming::kByPath && (moved || !file.path_leads_here()))
      return replaced_meanwhile(file.path());
    times_moved = times_moved || moved;
  }
  if (!times_moved || digest_.empty()) return {};
  // The name, the mode or the content: the bytes tell.
  const std::string before = digest_;
  const auto again = digest();
  if (!again) return again.error();
  if (*again != before) return written_meanwhile(files_.front().path());
  return {};
}

Result<std::string> model_digest(const std::string& path) {
  const auto files = ModelFiles::open(path);
  if (!files) return files.error();
  return files->digest();
}

}  // namespace holdfast::cache
