#include "cli/machine_facts.h"

#include <fcntl.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/free_memory.h"
#include "env/usable_cpus.h"

namespace holdfast::cli {

namespace {

constexpr ByteCount kMebibyte = 1 << 20;
constexpr ByteCount kMeasured = 64 * kMebibyte;
constexpr ByteCount kLeftFree = 1024 * kMebibyte;

std::string unquoted(std::string text) {
  std::erase(text, '"');
  return text;
}

// The value of the first line that begins with `name`, behind its '=' or ':'.
std::string value_in(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto at = line.find_first_of("=:");
    if (at == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t", at + 1);
    return begin == std::string::npos ? "" : unquoted(line.substr(begin));
  }
  return "";
}

std::filesystem::path existing_part(std::filesystem::path folder) {
  std::error_code unknown;
  while (!std::filesystem::exists(folder, unknown) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

double megabytes_per_second(std::chrono::steady_clock::time_point began) {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return static_cast<double>(kMeasured) / 1e6 / std::max(seconds, 1e-9);
}

// A file that is gone with its holder.
class ScratchFile {
 public:
  explicit ScratchFile(const std::filesystem::path& folder)
      : path_((folder / (".holdfast-doctor-" + std::to_string(::getpid()))).string()),
        fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {}
  ~ScratchFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_ = -1;
};

bool write_all(int fd, const std::vector<char>& piece) {
  for (ByteCount done = 0; done < kMeasured; done += piece.size()) {
    if (::write(fd, piece.data(), piece.size()) != static_cast<ssize_t>(piece.size())) return false;
  }
  return ::fsync(fd) == 0;
}

bool read_all(int fd, std::vector<char>& piece) {
  for (ByteCount done = 0; done < kMeasured; done += piece.size()) {
    const auto got = ::pread(fd, piece.data(), piece.size(), static_cast<off_t>(done));
    if (got != static_cast<ssize_t>(piece.size())) return false;
  }
  return true;
}

}  // namespace

MachineFacts machine_facts() {
  MachineFacts facts;
  utsname name{};
  facts.system = value_in("/etc/os-release", "PRETTY_NAME");
  if (::uname(&name) == 0) {
    facts.system += (facts.system.empty() ? "" : ", ") + std::string(name.sysname) + " " +
                    name.release + " " + name.machine;
  }
  facts.processor = value_in("/proc/cpuinfo", "model name");
  const std::string family = value_in("/proc/cpuinfo", "cpu family");
  const std::string model = value_in("/proc/cpuinfo", "model\t");
  if (!family.empty()) facts.processor += " (family " + family + ", model " + model + ")";
  const env::UsableCpus cpus = env::usable_cpus();
  facts.cores = static_cast<unsigned>(cpus.online);
  facts.usable_cores = cpus.in_words();
  struct sysinfo memory {};
  if (::sysinfo(&memory) == 0) facts.memory = ByteCount{memory.totalram} * memory.mem_unit;
  facts.memory_free = free_memory().value_or(0);
  return facts;
}

DiskFacts disk_facts(const std::string& folder) {
  DiskFacts facts;
  if (folder.empty() || folder == "off") return facts;
  facts.folder = folder;
  const std::filesystem::path there = existing_part(folder);
  std::error_code unknown;
  facts.free = std::filesystem::space(there, unknown).available;
  if (unknown) facts.free = 0;
  if (facts.free < kLeftFree) {
    facts.trouble = "there is hardly any room";
    return facts;
  }
  const ScratchFile file(there);
  std::vector<char> piece(kMebibyte, 'h');
  auto began = std::chrono::steady_clock::now();
  if (file.fd() < 0 || !write_all(file.fd(), piece)) {
    facts.trouble = std::string("nothing can be written there: ") + std::strerror(errno);
    return facts;
  }
  facts.write_mb_s = megabytes_per_second(began);
  (void)::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);  // read from the disk itself
  began = std::chrono::steady_clock::now();
  if (read_all(file.fd(), piece)) facts.read_mb_s = megabytes_per_second(began);
  return facts;
}

}  // namespace holdfast::cli
