#include "hotrow/machine/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "hotrow/base/error.h"
#include "hotrow/machine/buffer.h"
#include "tests/machine/address_limit.h"
#include "tests/support/resident_bytes.h"

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
  constexpr std::int64_t kMore = std::int64_t{256} << 20;
  const AddressLimit limit(kMore);
  if (!limit.set()) GTEST_SKIP() << "the limit is lower already";
  EXPECT_LE(AvailableMemory(), kMore);
  EXPECT_GT(AvailableForReserved(), kMore) << "what is reserved needs no more addresses";
}

TEST(System, NeedMemorySaysWhatIsNeededAndWhatThereIs) {
  NeedMemory(1, "a byte");
  EXPECT_THAT([] { NeedMemory(std::int64_t{1} << 50, "samples"); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::MatchesRegex("samples: 1048576.00 GiB are needed, .* GiB are available")));
}

TEST(System, KnowsItsCpu) { EXPECT_FALSE(CpuName().empty()); }

}  // namespace
}  // namespace hotrow
