// Counts: what happened in simulated runs, added up over seeds.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace holdfast::simulation {

class Counts {
 public:
  void add(const std::string& what, std::uint64_t by = 1) {
    sums_[what] += by;
    if (told_) std::printf("    %s\n", what.c_str());
  }
  void add(const Counts& other) {
    for (const auto& [what, sum] : other.sums_) sums_[what] += sum;
  }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& sums() const { return sums_; }
  [[nodiscard]] std::uint64_t of(const std::string& what) const {
    const auto found = sums_.find(what);
    return found == sums_.end() ? 0 : found->second;
  }

  // From now on each is printed as it happens.
  void tell() { told_ = true; }

 private:
  std::map<std::string, std::uint64_t> sums_;
  bool told_ = false;
};

}  // namespace holdfast::simulation
