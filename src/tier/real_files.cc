#include "tier/real_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "base/check.h"

namespace holdfast::tier {

namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// A descriptor that closes itself, or the errno that says why there is none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number), error_(number < 0 ? errno : 0) {}
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)), error_(other.error_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    std::swap(error_, other.error_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] bool ok() const { return number_ >= 0; }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
  int error_;
};

// The folder that a path lies in, and its last part.
struct Location {
  Descriptor folder;
  std::string name;
};

Descriptor walk(int root, const std::string& path) {
  Descriptor at(::fcntl(root, F_DUPFD_CLOEXEC, 0));
  for (std::size_t begin = 0; at.ok() && begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    CHECK(!part.empty() && part != "." && part != "..");
    at = Descriptor(::openat(at.get(), part.c_str(), kFolderFlags));
    begin = end + 1;
  }
  return at;
}

Location location_of(int root, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  CHECK(!name.empty() && name != "." && name != "..");
  return {walk(root, slash == std::string::npos ? "" : path.substr(0, slash)), name};
}

int errno_of(int result) { return result == 0 ? 0 : errno; }

class RealFile final : public OpenFile {
 public:
  RealFile(Descriptor descriptor, ByteCount size)
      : descriptor_(std::move(descriptor)), size_(size) {}

  [[nodiscard]] ByteCount size() const override { return size_; }

  [[nodiscard]] Io<std::size_t> append(Pieces pieces) override {
    std::vector<iovec> list;
    for (const auto piece : pieces.first(std::min<std::size_t>(pieces.size(), IOV_MAX))) {
      list.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
    }
    const ssize_t count = ::writev(descriptor_.get(), list.data(), static_cast<int>(list.size()));
    if (count < 0) return Io<std::size_t>::failed(errno);
    return static_cast<std::size_t>(count);
  }

  [[nodiscard]] Io<std::size_t> read_at(ByteCount offset, std::span<std::byte> out) override {
    const ssize_t count =
        ::pread(descriptor_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0) return Io<std::size_t>::failed(errno);
    return static_cast<std::size_t>(count);
  }

  [[nodiscard]] int sync() override { return errno_of(::fsync(descriptor_.get())); }

 private:
  Descriptor descriptor_;
  ByteCount size_;
};

class RealLock final : public FileLock {
 public:
  explicit RealLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
  Descriptor descriptor_;  // closing it lets go
};

// mkdir -p, private. Returns an errno.
int make_all(const std::string& path) {
  for (std::size_t end = 1; end <= path.size(); ++end) {
    if (end < path.size() && path[end] != '/') continue;
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      struct stat there {};
      const int error = errno;  // EROFS or EACCES above a folder that is there already
      if (::stat(part.c_str(), &there) != 0 || !S_ISDIR(there.st_mode)) return error;
    }
  }
  return 0;
}

FolderEntry entry_of(int folder, const std::string& name) {
  struct stat facts {};
  if (::fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return {name, FolderEntry::Kind::kOther, 0};
  if (S_ISDIR(facts.st_mode)) return {name, FolderEntry::Kind::kFolder, 0};
  if (!S_ISREG(facts.st_mode)) return {name, FolderEntry::Kind::kOther, 0};
  return {name, FolderEntry::Kind::kFile, static_cast<ByteCount>(facts.st_size)};
}

}  // namespace

Result<std::unique_ptr<RealFiles>> RealFiles::open(const std::string& folder, Missing missing) {
  if (folder.empty()) return io_error("a folder without a name cannot be opened", EINVAL);
  if (missing == Missing::kCreate) {
    if (const int error = make_all(folder); error != 0)
      return io_error("the folder " + folder + " cannot be made", error);
  }
  char* const resolved = ::realpath(folder.c_str(), nullptr);
  if (resolved == nullptr) return io_error("the folder " + folder + " cannot be opened", errno);
  const std::string root = resolved;
  std::free(resolved);
  Descriptor opened(::open(root.c_str(), kFolderFlags));
  if (!opened.ok()) return io_error("the folder " + root + " cannot be opened", opened.error());
  return std::unique_ptr<RealFiles>(new RealFiles(opened.release(), root));
}

RealFiles::~RealFiles() { ::close(folder_); }

bool RealFiles::still_there() const {
  struct stat held {
  }, named{};
  return ::fstat(folder_, &held) == 0 && ::stat(root_.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

Io<std::unique_ptr<OpenFile>> RealFiles::create(const std::string& path) {
  const Location location = location_of(folder_, path);
  if (!location.folder.ok()) return Io<std::unique_ptr<OpenFile>>::failed(location.folder.error());
  constexpr int kFlags = O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  Descriptor made(::openat(location.folder.get(), location.name.c_str(), kFlags, 0600));
  if (!made.ok()) return Io<std::unique_ptr<OpenFile>>::failed(made.error());
  return std::unique_ptr<OpenFile>(std::make_unique<RealFile>(std::move(made), 0));
}

Io<std::unique_ptr<OpenFile>> RealFiles::open(const std::string& path) {
  const Location location = location_of(folder_, path);
  if (!location.folder.ok()) return Io<std::unique_ptr<OpenFile>>::failed(location.folder.error());
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor opened(::openat(location.folder.get(), location.name.c_str(), kFlags));
  if (!opened.ok()) return Io<std::unique_ptr<OpenFile>>::failed(opened.error());
  struct stat facts {};
  if (::fstat(opened.get(), &facts) != 0) return Io<std::unique_ptr<OpenFile>>::failed(errno);
  if (!S_ISREG(facts.st_mode)) return Io<std::unique_ptr<OpenFile>>::failed(EINVAL);
  const auto size = static_cast<ByteCount>(facts.st_size);
  return std::unique_ptr<OpenFile>(std::make_unique<RealFile>(std::move(opened), size));
}

int RealFiles::rename(const std::string& from, const std::string& to) {
  const Location source = location_of(folder_, from);
  if (!source.folder.ok()) return source.folder.error();
  const Location target = location_of(folder_, to);
  if (!target.folder.ok()) return target.folder.error();
  return errno_of(::renameat(source.folder.get(), source.name.c_str(), target.folder.get(),
                             target.name.c_str()));
}

int RealFiles::remove(const std::string& path) {
  const Location location = location_of(folder_, path);
  if (!location.folder.ok()) return location.folder.error();
  return errno_of(::unlinkat(location.folder.get(), location.name.c_str(), 0));
}

int RealFiles::make_folder(const std::string& path) {
  const Location location = location_of(folder_, path);
  if (!location.folder.ok()) return location.folder.error();
  return errno_of(::mkdirat(location.folder.get(), location.name.c_str(), 0700));
}

int RealFiles::sync_folder(const std::string& path) {
  const Descriptor folder = walk(folder_, path);
  return folder.ok() ? errno_of(::fsync(folder.get())) : folder.error();
}

Io<std::vector<FolderEntry>> RealFiles::list(const std::string& path) {
  Descriptor folder = walk(folder_, path);
  if (!folder.ok()) return Io<std::vector<FolderEntry>>::failed(folder.error());
  const Descriptor for_stat(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0));
  DIR* const stream = for_stat.ok() ? ::fdopendir(folder.get()) : nullptr;
  if (stream == nullptr) return Io<std::vector<FolderEntry>>::failed(errno);
  static_cast<void>(folder.release());  // the stream's now
  ::rewinddir(stream);
  std::vector<FolderEntry> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(entry_of(for_stat.get(), name));
    errno = 0;
  }
  const int error = errno;
  ::closedir(stream);
  if (error != 0) return Io<std::vector<FolderEntry>>::failed(error);
  return entries;
}

Io<std::unique_ptr<FileLock>> RealFiles::lock(const std::string& path) {
  const Location location = location_of(folder_, path);
  if (!location.folder.ok()) return Io<std::unique_ptr<FileLock>>::failed(location.folder.error());
  constexpr int kFlags = O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC;
  Descriptor opened(::openat(location.folder.get(), location.name.c_str(), kFlags, 0600));
  if (!opened.ok()) return Io<std::unique_ptr<FileLock>>::failed(opened.error());
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0)
    return Io<std::unique_ptr<FileLock>>::failed(errno);
  return std::unique_ptr<FileLock>(std::make_unique<RealLock>(std::move(opened)));
}

Io<ByteCount> RealFiles::free_bytes() {
  struct statvfs facts {};
  if (::fstatvfs(folder_, &facts) != 0) return Io<ByteCount>::failed(errno);
  return ByteCount{facts.f_bavail} * facts.f_frsize;
}

}  // namespace holdfast::tier
