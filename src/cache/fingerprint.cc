#include "cache/fingerprint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tier/space_note.h"

namespace holdfast::cache {

namespace {

// A hash of framed texts and numbers: every text comes after its length.
class Hash128 {
 public:
  Hash128() { XXH3_128bits_reset(&state_); }

  Hash128& bytes(std::span<const std::byte> bytes) {
    XXH3_128bits_update(&state_, bytes.data(), bytes.size());
    return *this;
  }
  // Lowest byte first, whatever the machine.
  Hash128& number(std::uint64_t value) {
    std::array<std::byte, 8> little;
    for (std::byte& byte : little) {
      byte = static_cast<std::byte>(value & 0xff);
      value >>= 8;
    }
    return bytes(little);
  }
  Hash128& text(std::string_view text) {
    return number(text.size()).bytes(std::as_bytes(std::span(text)));
  }
  [[nodiscard]] SpaceKey digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return {hash.high64, hash.low64};
  }

 private:
  XXH3_state_t state_{};
};

using Facts = std::vector<std::pair<std::string, std::string>>;

Hash128 hash_facts(const Facts& facts) {
  Hash128 hash;
  hash.number(facts.size());
  for (const auto& [name, value] : facts) hash.text(name).text(value);
  return hash;
}

// --- files ----------------------------------------------------------------------

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

class ModelFile {
 public:
  explicit ModelFile(std::string path) : path_(std::move(path)) {}
  ~ModelFile() {
    if (fd_ >= 0) close(fd_);
  }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  [[nodiscard]] Result<void> open_for_reading() {
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block
    struct stat status {};
    if (fd_ < 0 || fstat(fd_, &status) != 0) return failure(errno);
    if (!S_ISREG(status.st_mode)) {
      return Error{ErrorCode::kInvalidArgument, "'" + path_ + "' is not a file.", ""};
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    // Without this the kernel reads far more than each page.
    if (size_ > kWholeBytesMax) (void)posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);
    return {};
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }

  [[nodiscard]] Result<void> hash_range(ByteRange range, Hash128& hash) {
    while (range.begin < range.end) {
      const std::uint64_t wanted = std::min<std::uint64_t>(buffer_.size(), range.end - range.begin);
      const ssize_t got = pread(fd_, buffer_.data(), wanted, static_cast<off_t>(range.begin));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failure(errno);
      if (got == 0) {
        return Error{ErrorCode::kIo, "'" + path_ + "' became shorter while it was read.", ""};
      }
      hash.bytes(std::span(buffer_).first(static_cast<std::size_t>(got)));
      range.begin += static_cast<std::uint64_t>(got);
    }
    return {};
  }

 private:
  [[nodiscard]] Error failure(int number) const {
    const ErrorCode code = number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return {code, "'" + path_ + "' cannot be read: " + std::strerror(number) + ".", ""};
  }

  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kMiB);
};

Result<void> hash_file(const std::string& path, Hash128& hash) {
  ModelFile file(path);
  if (auto opened = file.open_for_reading(); !opened) return opened;
  hash.number(file.size());
  for (const ByteRange range : sampled_ranges(file.size())) {
    if (auto read = file.hash_range(range, hash); !read) return read;
  }
  return {};
}

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

Fingerprint& Fingerprint::add(std::string_view name, std::string_view value) {
  facts_.emplace_back(name, value);
  return *this;
}

SpaceKey Fingerprint::space(std::string_view tenant_salt) const {
  return hash_facts(facts_).text(tenant_salt).digest();
}

std::string Fingerprint::hex() const { return tier::hex_of(hash_facts(facts_).digest()); }

std::string Fingerprint::describe() const {
  std::string line;
  for (const auto& [name, value] : facts_) {
    line += (line.empty() ? "" : " ") + name + "=" + value;
  }
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return line;
}

Result<std::string> model_digest(const std::string& path) {
  const std::vector<std::string> parts = parts_of(path);
  Hash128 hash;
  hash.number(parts.size());
  for (const std::string& part : parts) {
    if (auto read = hash_file(part, hash); !read) return read.error();
  }
  return tier::hex_of(hash.digest());
}

}  // namespace holdfast::cache
