#include "hotrow/base/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "hotrow/base/buffer.h"
#include "hotrow/base/error.h"

namespace hotrow {
namespace {

TEST(System, MemoryFiguresAgreeWithOneAnother) {
  EXPECT_GT(AvailableMemory(), 0);
  EXPECT_LE(AvailableMemory(), TotalMemory());
  EXPECT_GT(ResidentBytes(), 0);
  EXPECT_LE(ResidentBytes(), TotalMemory());
}

TEST(System, ResidentMemoryFollowsWhatIsTouched) {
  constexpr std::int64_t kBytes = std::int64_t{64} << 20;
  const std::int64_t before = ResidentBytes();
  {
    Buffer<char> buffer(kBytes);
    for (std::int64_t i = 0; i < kBytes; i += 4096) buffer[i] = 1;
    EXPECT_GT(ResidentBytes() - before, kBytes / 2);
    EXPECT_GE(PeakResidentBytes(), kBytes);
  }
  EXPECT_LT(ResidentBytes() - before, kBytes / 2);
  EXPECT_GE(PeakResidentBytes(), kBytes) << "the peak stays";
}

TEST(System, AvailableMemoryHeedsTheLimitOfAddressSpace) {
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  std::int64_t pages = 0;  // in use: of a sanitizer, terabytes
  ASSERT_TRUE(std::ifstream("/proc/self/statm") >> pages);
  constexpr std::int64_t kMore = std::int64_t{256} << 20;
  struct rlimit limited = before;
  limited.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + kMore);
  if (limited.rlim_cur > before.rlim_max) GTEST_SKIP() << "the limit is lower already";
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  const std::int64_t available = AvailableMemory();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LE(available, kMore);
}

TEST(System, NeedMemorySaysWhatIsNeededAndWhatThereIs) {
  NeedMemory(1, "a byte");
  EXPECT_THAT([] { NeedMemory(std::int64_t{1} << 50, "samples"); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::MatchesRegex("samples: 1048576.00 GiB are needed, .* GiB are available")));
}

TEST(System, KnowsItsCores) {
  EXPECT_GE(AvailableCores(), 1);
  EXPECT_FALSE(CpuName().empty());
}

}  // namespace
}  // namespace hotrow
