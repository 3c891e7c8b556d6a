// How many processors this process may use: fewer than the machine has in a restricted CPU set
// (taskset, a container's --cpuset-cpus) or under a quota (a container's --cpus).
//
// It matters because the engine's threads wait for each other many times in a token: with one
// thread more than there are processors, each such wait lasts until the system takes the
// processor away from the one that waits, and everything is hundreds of times slower.
#pragma once

#include <optional>
#include <string>

namespace holdfast::env {

struct UsableCpus {
  int online = 1;               // what the machine has
  int allowed = 1;              // in this process's CPU set
  std::optional<double> quota;  // of time, in processors; nothing: no limit

  // How many threads can run at once: at least 1. A quota of 1.5 is 2, one of 1.4 is 1.
  [[nodiscard]] int count() const;
  // There are fewer than the machine has: the others are somebody else's.
  [[nodiscard]] bool restricted() const { return count() < online; }
  // "2 of 16 CPUs (CPU set 4, quota 2)".
  [[nodiscard]] std::string in_words() const;
};

[[nodiscard]] UsableCpus usable_cpus();

// The tightest quota of the cgroups, version 1 or 2, that a process is in. `proc` and the mount
// points named in its mountinfo are looked up below `root`, which is "" except in tests.
[[nodiscard]] std::optional<double> cgroup_cpu_quota(const std::string& root,
                                                     const std::string& proc = "/proc/self");

}  // namespace holdfast::env
