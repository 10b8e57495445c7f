#include "hotrow/machine/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "hotrow/base/size.h"

namespace hotrow {
namespace {

constexpr std::int64_t kTotal = 64 * kGiB;
constexpr std::int64_t kFree = 48 * kGiB;

std::string MiB(std::int64_t count) { return std::to_string(count * kMiB) + "\n"; }

// A machine of 64 GiB, 48 of them available, made of files.
class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    Write("/proc/meminfo", "MemTotal:       67108864 kB\nMemFree:  1 kB\nMemAvailable:   50331648 kB\n");
  }
  ~MemoryTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void Groups(const std::string& text) const { Write("/proc/self/cgroup", text); }
  // Groups of figures in MiB; the cache half inactive, half active.
  void Version2(const std::string& group, const std::string& limit, std::int64_t used,
                std::int64_t cache) const {
    const std::string directory = "/sys/fs/cgroup" + group;
    Write(directory + "/memory.max", limit);
    Write(directory + "/memory.current", MiB(used));
    Write(directory + "/memory.stat", "anon 5\nfile 7\ninactive_file " + MiB(cache / 2) + "active_file " +
                                          MiB(cache - cache / 2) + "workingset_refault_file 9\n");
  }
  void Version1(const std::string& group, const std::string& limit, std::int64_t used,
                std::int64_t cache) const {
    const std::string directory = "/sys/fs/cgroup/memory" + group;
    Write(directory + "/memory.limit_in_bytes", limit);
    Write(directory + "/memory.usage_in_bytes", MiB(used));
    // What is its own alone does not count: a group's use is that of the groups in it too.
    Write(directory + "/memory.stat", "inactive_file 3\nactive_file 4\ntotal_inactive_file " +
                                          MiB(cache / 2) + "total_active_file " + MiB(cache - cache / 2));
  }
  void Expect(std::int64_t total, std::int64_t available) const {
    const Memory memory = ReadMemory(root_);
    EXPECT_EQ(memory.total, total);
    EXPECT_EQ(memory.available, available);
  }

  std::string root_ = ::testing::TempDir() + "memory_test." + std::to_string(getpid());
};

TEST_F(MemoryTest, WithoutGroupsTheMachineIsAllThereIs) { Expect(kTotal, kFree); }

TEST_F(MemoryTest, NothingToReadLimitsNothing) {
  std::filesystem::remove_all(root_);
  const Memory memory = ReadMemory(root_);
  EXPECT_GT(memory.total, std::numeric_limits<std::int64_t>::max() / 2);
  EXPECT_GT(memory.available, std::numeric_limits<std::int64_t>::max() / 2);
}

TEST_F(MemoryTest, PageCacheOfAGroupIsAvailable) {
  Groups("0::/\n");
  Version2("", MiB(1000), 900, 700);
  Expect(1000 * kMiB, 800 * kMiB);
  Version2("", MiB(1000), 100, 300);  // never more than the limit
  Expect(1000 * kMiB, 1000 * kMiB);
  Version2("", MiB(1000), 1200, 0);  // nor less than nothing
  Expect(1000 * kMiB, 0);
  Version2("", MiB(60'000), 10'000, 9'000);  // never more than the machine has
  Expect(60'000 * kMiB, kFree);
}

TEST_F(MemoryTest, VersionOneCountsTheGroupsInAGroup) {
  Groups("5:cpu,cpuacct:/a\n4:memory:/\n0::/\n");
  Version1("", MiB(1000), 900, 701);
  Expect(1000 * kMiB, 801 * kMiB);
  Version1("", "9223372036854771712\n", 900, 700);  // no limit
  Expect(kTotal, kFree);
}

TEST_F(MemoryTest, TheSmallestOfNestedGroupsHolds) {
  Groups("0::/user/job/step\n");
  Version2("/user/job/step", "max\n", 10, 0);
  Version2("/user/job", MiB(500), 450, 350);  // leaves 400
  Version2("/user", MiB(400), 10, 0);         // leaves 390
  Version2("/user/other", MiB(1), 1, 0);      // not one of ours
  Expect(400 * kMiB, 390 * kMiB);
  Version2("/user/job/step", MiB(450), 400, 0);  // leaves 50
  Expect(400 * kMiB, 50 * kMiB);
  Groups("3:hugetlb,memory:/user/job\n0::/\n");
  Version1("/user/job", MiB(300), 290, 0);
  Version1("/user", MiB(200), 100, 0);
  Version1("", "9223372036854771712\n", 40'000, 0);
  Expect(200 * kMiB, 10 * kMiB);
}

// The path is the machine's, the mount the container's.
TEST_F(MemoryTest, AContainerSeesItsOwnGroupAsTheRoot) {
  for (const char* groups :
       {"4:memory:/docker/0123\n", "0::/docker/0123\n", "0::/../../other\n", "0::\n", ""}) {
    Groups(groups);
    Version1("", MiB(300), 100, 0);
    Version2("", MiB(400), 100, 0);
    Expect(300 * kMiB, 200 * kMiB);
  }
}

TEST_F(MemoryTest, MissingFilesAreNoZeros) {
  Groups("0::/a/b\n");
  Write("/sys/fs/cgroup/a/b/memory.current", MiB(5));  // no limit
  Write("/sys/fs/cgroup/a/memory.max", MiB(700));      // no use
  Expect(700 * kMiB, kFree);
  Write("/sys/fs/cgroup/a/memory.current", MiB(200));  // no statistics
  Expect(700 * kMiB, 500 * kMiB);
}

}  // namespace
}  // namespace hotrow
