#include "hotrow/machine/cores.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "hotrow/machine/cgroups.h"

namespace hotrow {
namespace {

namespace fs = std::filesystem;

void WriteText(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

// A machine made of files.
class CpuQuotaTest : public ::testing::Test {
 protected:
  ~CpuQuotaTest() override { fs::remove_all(root_); }

  void Groups(const std::string& text) const { WriteText(root_ + "/proc/self/cgroup", text); }
  void Version1(const std::string& group, const std::string& quota, const std::string& period) const {
    const std::string directory = root_ + "/sys/fs/cgroup/cpu" + group;
    WriteText(directory + "/cpu.cfs_quota_us", quota + "\n");
    WriteText(directory + "/cpu.cfs_period_us", period + "\n");
  }
  void Version2(const std::string& group, const std::string& text) const {
    WriteText(root_ + "/sys/fs/cgroup" + group + "/cpu.max", text + "\n");
  }

  std::string root_ = ::testing::TempDir() + "cores_test." + std::to_string(getpid());
};

TEST_F(CpuQuotaTest, NothingToReadIsNoQuota) {
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  Groups("0::/a\n");
  Version2("/a", "max 100000");
  Version1("", "-1", "100000");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  Version2("/a", "0 0");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
}

TEST_F(CpuQuotaTest, IsTheQuotaOverThePeriod) {
  Groups("3:cpu,cpuacct:/job\n0::/\n");
  Version1("/job", "50000", "100000");
  EXPECT_EQ(CpuQuota(root_), 0.5);
  Version1("/job", "600000", "200000");
  EXPECT_EQ(CpuQuota(root_), 3.0);
  Groups("0::/job\n");
  EXPECT_EQ(CpuQuota(root_), std::nullopt);
  Version2("/job", "150000 100000");
  EXPECT_EQ(CpuQuota(root_), 1.5);
}

TEST_F(CpuQuotaTest, TheLeastOfNestedGroupsHolds) {
  Groups("0::/user/job/step\n");
  Version2("/user/job/step", "max 100000");
  Version2("/user/job", "400000 100000");
  Version2("/user", "250000 100000");
  Version2("/user/other", "10000 100000");  // not one of ours
  EXPECT_EQ(CpuQuota(root_), 2.5);
  Version2("/user/job/step", "100000 100000");
  EXPECT_EQ(CpuQuota(root_), 1.0);
}

TEST_F(CpuQuotaTest, AContainerSeesItsOwnGroupAsTheRoot) {
  for (const char* groups : {"2:cpu:/docker/0123\n", "0::/docker/0123\n", "0::/../../other\n", ""}) {
    Groups(groups);
    Version1("", "200000", "100000");
    Version2("", "300000 100000");
    EXPECT_EQ(CpuQuota(root_), 2.0) << groups;
  }
}

TEST(Cores, AreThoseThatTheQuotaFills) {
  EXPECT_EQ(UsableCores(64, std::nullopt), 64);
  EXPECT_EQ(UsableCores(64, 1.0), 1);
  EXPECT_EQ(UsableCores(2, 0.5), 1);
  EXPECT_EQ(UsableCores(1, 0.001), 1);
  EXPECT_EQ(UsableCores(64, 2.25), 3);
  EXPECT_EQ(UsableCores(2, 1e12), 2);
  EXPECT_GE(AvailableCores(), 1);
  EXPECT_LE(AvailableCores(), AffinityCores());
}

// A group of this process's own in which CPUs can be limited; empty where none can be made.
std::string MakeGroup() {
  for (const CgroupDirectory& parent : CgroupDirectories("cpu")) {
    const std::string group = parent.path + "/hotrow_test_" + std::to_string(getpid());
    std::error_code error;
    if (!fs::create_directory(group, error)) continue;
    if (parent.version == 1 && fs::exists(group + "/cpu.cfs_quota_us")) {
      std::ofstream(group + "/cpu.cfs_period_us") << 100000;
      if (std::ofstream(group + "/cpu.cfs_quota_us") << 50000 << std::flush) return group;
    }
    if (parent.version == 2 && fs::exists(group + "/cpu.max")) {
      if (std::ofstream(group + "/cpu.max") << "50000 100000" << std::flush) return group;
    }
    rmdir(group.c_str());
  }
  return "";
}

// Of a child in the group: what it finds, and what the scripts do.
std::string FoundInGroup(const std::string& group) {
  const std::string script = HOTROW_TEST_SOURCE_DIR "/../scripts/cores.sh";
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], 1);
    std::ofstream(group + "/cgroup.procs") << getpid();
    dprintf(1, "%g %d ", CpuQuota().value_or(-1), AvailableCores());
    execl("/bin/bash", "bash", script.c_str(), nullptr);
    _exit(1);
  }
  close(pipe_ends[1]);
  std::string text;
  char byte = 0;
  while (read(pipe_ends[0], &byte, 1) == 1) text += byte;
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

TEST(Cores, FollowTheQuotaOfARealGroup) {
  const std::string group = MakeGroup();
  if (group.empty()) GTEST_SKIP() << "no cgroup can be made here that limits CPUs: that takes root";
  EXPECT_EQ(FoundInGroup(group), "0.5 1 1\n");
  for (int tries = 0; tries < 100 && rmdir(group.c_str()) != 0; ++tries)
    usleep(10'000);  // the child leaves it
  EXPECT_FALSE(fs::exists(group));
}

}  // namespace
}  // namespace hotrow
