#include "env/usable_cpus.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::env {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// --- where the cgroups of a process are -----------------------------------------------------

enum class Version { kOne, kTwo };

// A hierarchy that governs processor time, as mounted: what of it, and where.
struct Mount {
  Version version = Version::kTwo;
  std::string root;   // the cgroup that is seen at `point`
  std::string point;  // a path
};

// "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw"
std::optional<Mount> mount_of(const std::string& line) {
  const std::vector<std::string> fields = split(line, ' ');
  const auto dash = std::ranges::find(fields, "-");
  if (fields.size() < 5 || fields.end() - dash < 4) return std::nullopt;
  const std::string& type = *(dash + 1);
  if (type == "cgroup2") return Mount{Version::kTwo, fields[3], fields[4]};
  if (type == "cgroup" && contains(split(*(dash + 3), ','), "cpu"))
    return Mount{Version::kOne, fields[3], fields[4]};
  return std::nullopt;
}

// The path of the process's cgroup in a hierarchy: "1:cpu,cpuacct:/docker/4f" or "0::/user.slice".
std::optional<std::string> path_in(Version version, const std::string& cgroup_file) {
  std::ifstream lines(cgroup_file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool found =
        version == Version::kTwo ? controllers.empty() : contains(split(controllers, ','), "cpu");
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

// --- what a cgroup says -----------------------------------------------------------------------

std::optional<double> quota_of(double quota, double period) {
  if (quota <= 0 || period <= 0) return std::nullopt;  // version 1 says -1 for no limit
  return quota / period;
}

std::optional<double> quota_in(Version version, const std::string& folder) {
  double quota = 0;
  double period = 0;
  if (version == Version::kTwo) {  // "150000 100000" or "max 100000"
    std::ifstream file(folder + "/cpu.max");
    if (!(file >> quota >> period)) return std::nullopt;
    return quota_of(quota, period);
  }
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  return quota_of(quota, period);
}

// A quota holds for everything below, so all cgroups from the process's own up to the mount's
// root count. Inside a container the path may be the host's, of which only the root is seen.
std::optional<double> tightest_in(const Mount& mount, std::string path, const std::string& root) {
  if (mount.root != "/" && path.starts_with(mount.root)) path.erase(0, mount.root.size());
  std::optional<double> tightest;
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    const auto quota = quota_in(mount.version, root + mount.point + path);
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
    if (path.empty()) return tightest;
    path.erase(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

int processors_online() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

int processors_allowed(int online) {
#ifdef __linux__
  // The kernel refuses sets smaller than its own; 1 << 16 processors are enough for all.
  for (int most = 1024; most <= (1 << 16); most *= 4) {
    cpu_set_t* const set = CPU_ALLOC(most);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(most);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::max(1, count);
  }
#endif
  return online;
}

std::string shown(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

}  // namespace

int UsableCpus::count() const {
  const int by_quota = quota ? static_cast<int>(std::lround(std::min(*quota, 1e6))) : allowed;
  return std::max(1, std::min(allowed, by_quota));
}

std::string UsableCpus::in_words() const {
  std::string words = std::to_string(count()) + " of " + std::to_string(online) + " CPUs";
  std::string why;
  if (allowed < online) why = "CPU set " + std::to_string(allowed);
  if (quota) why += (why.empty() ? "quota " : ", quota ") + shown(*quota);
  return why.empty() ? words : words + " (" + why + ")";
}

std::optional<double> cgroup_cpu_quota(const std::string& root, const std::string& proc) {
  std::optional<double> tightest;
  std::ifstream mounts(root + proc + "/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const auto mount = mount_of(line);
    if (!mount) continue;
    const auto path = path_in(mount->version, root + proc + "/cgroup");
    if (!path) continue;
    const auto quota = tightest_in(*mount, *path, root);
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
  }
  return tightest;
}

UsableCpus usable_cpus() {
  UsableCpus cpus;
  cpus.online = processors_online();
  cpus.allowed = processors_allowed(cpus.online);
  cpus.online = std::max(cpus.online, cpus.allowed);
  cpus.quota = cgroup_cpu_quota("");
  return cpus;
}

}  // namespace holdfast::env
