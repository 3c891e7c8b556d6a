#include "env/usable_cpus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#ifdef __linux__
#include <sched.h>
#endif

namespace holdfast::env {
namespace {

namespace fs = std::filesystem;

// A machine's /proc and cgroup tree, below a folder.
class CgroupTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& content) {
    fs::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    std::ofstream(root_ + path) << content;
  }
  void mount(const std::string& line) { write("/proc/self/mountinfo", mounts_ += line + "\n"); }
  void mount_v2(const std::string& root = "/") {
    mount("31 23 0:28 " + root + " /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw");
  }
  void in_cgroup(const std::string& lines) { write("/proc/self/cgroup", lines); }
  [[nodiscard]] std::optional<double> quota() const { return cgroup_cpu_quota(root_); }

 private:
  const std::string root_ =
      (fs::path(testing::TempDir()) / ("holdfast-cgroups-" + std::to_string(::getpid()))).string();
  std::string mounts_ = "23 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
};

TEST_F(CgroupTest, WithoutCgroupsThereIsNoQuota) {
  EXPECT_EQ(quota(), std::nullopt);
  mount_v2();
  in_cgroup("0::/\n");
  EXPECT_EQ(quota(), std::nullopt);
}

TEST_F(CgroupTest, Version2) {
  mount_v2();
  in_cgroup("0::/user.slice/one.scope\n");
  write("/sys/fs/cgroup/user.slice/one.scope/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  write("/sys/fs/cgroup/user.slice/one.scope/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);
}

TEST_F(CgroupTest, TheTightestOnTheWayUpCounts) {
  mount_v2();
  in_cgroup("0::/a/b/c\n");
  write("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 2.0);
}

TEST_F(CgroupTest, InAContainerThePathIsTheHosts) {
  mount_v2();
  in_cgroup("0::/system.slice/docker-4f.scope\n");
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
}

TEST_F(CgroupTest, TheMountMayShowAPartOfTheTree) {
  mount_v2("/pods/one");
  in_cgroup("0::/pods/one/inner\n");
  write("/sys/fs/cgroup/inner/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3.0);
}

TEST_F(CgroupTest, Version1) {
  mount("32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset");
  mount("33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpuacct,cpu");
  in_cgroup("5:cpuset:/other\n4:cpu,cpuacct:/docker/4f\n1:name=systemd:/x\n0::/\n");
  const std::string folder = "/sys/fs/cgroup/cpu,cpuacct/docker/4f";
  write(folder + "/cpu.cfs_quota_us", "-1\n");
  write(folder + "/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  write(folder + "/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(quota(), 2.5);
}

TEST_F(CgroupTest, NonsenseIsNoQuota) {
  mount("nonsense");
  mount_v2();
  in_cgroup("\n:\n0::/a\n");
  for (const char* content : {"", "max", "0 100000", "100000 0", "-5 100000", "many few"}) {
    write("/sys/fs/cgroup/a/cpu.max", content);
    EXPECT_EQ(quota(), std::nullopt) << content;
  }
}

TEST(UsableCpus, TheSmallestOfThemCounts) {
  EXPECT_EQ((UsableCpus{16, 16, std::nullopt}).count(), 16);
  EXPECT_EQ((UsableCpus{16, 4, std::nullopt}).count(), 4);
  EXPECT_EQ((UsableCpus{16, 4, 2.0}).count(), 2);
  EXPECT_EQ((UsableCpus{16, 4, 8.0}).count(), 4);
  EXPECT_EQ((UsableCpus{16, 16, 0.2}).count(), 1);
  EXPECT_EQ((UsableCpus{16, 16, 1.5}).count(), 2);
  EXPECT_EQ((UsableCpus{16, 16, 1.4}).count(), 1);
  EXPECT_EQ((UsableCpus{16, 16, 1e300}).count(), 16);
}

TEST(UsableCpus, SaysWhatItIsRestrictedBy) {
  EXPECT_FALSE((UsableCpus{16, 16, std::nullopt}).restricted());
  EXPECT_FALSE((UsableCpus{16, 16, 32.0}).restricted());
  EXPECT_TRUE((UsableCpus{16, 4, std::nullopt}).restricted());
  EXPECT_EQ((UsableCpus{16, 16, std::nullopt}).in_words(), "16 of 16 CPUs");
  EXPECT_EQ((UsableCpus{16, 4, 2.5}).in_words(), "3 of 16 CPUs (CPU set 4, quota 2.5)");
}

#ifdef __linux__
TEST(UsableCpus, ARestrictedSetIsSeen) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cpus().allowed, 1);
  EXPECT_EQ(usable_cpus().count(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}
#endif

}  // namespace
}  // namespace holdfast::env
