#include "hotrow/machine/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "hotrow/machine/system.h"
#include "tests/support/resident_bytes.h"

namespace hotrow {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

bool IsAligned(const void* pointer, std::uintptr_t unit) {
  return reinterpret_cast<std::uintptr_t>(pointer) % unit == 0;
}

TEST(MappedMemory, IsZeroWritableAndAligned) {
  for (std::int64_t bytes : {std::int64_t{1}, std::int64_t{4096}, 2 * kMiB - 1, 2 * kMiB, 5 * kMiB + 3}) {
    MappedMemory memory(bytes);
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_GE(memory.bytes(), bytes);
    EXPECT_TRUE(IsAligned(memory.data(), 64));
    auto* data = static_cast<unsigned char*>(memory.data());
    EXPECT_TRUE(std::all_of(data, data + memory.bytes(), [](unsigned char c) { return c == 0; })) << bytes;
    data[0] = 1;
    data[memory.bytes() - 1] = 2;
    EXPECT_EQ(data[0], memory.bytes() == 1 ? 2 : 1);
  }
}

TEST(MappedMemory, LargeOnesStartOnAHugePage) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(IsAligned(MappedMemory(3 * kMiB).data(), 2 * kMiB));
}

TEST(MappedMemory, ZeroBytesIsNothing) {
  const MappedMemory memory(0);
  EXPECT_EQ(memory.data(), nullptr);
  EXPECT_EQ(memory.bytes(), 0);
  EXPECT_EQ(MappedMemory::Reserve(0).data(), nullptr);
}

TEST(MappedMemory, MovesWithoutCopying) {
  MappedMemory a(100);
  void* data = a.data();
  MappedMemory b(std::move(a));
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(a.data(), nullptr);  // NOLINT(bugprone-use-after-move): a moved-from mapping is empty
  EXPECT_EQ(a.bytes(), 0);
  MappedMemory c;
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
}

// More than any address space holds, up to sizes whose rounding up to a page would overflow.
TEST(MappedMemory, RefusesHugeSizesSayingWhatThereIs) {
  EXPECT_THAT([] { MappedMemory memory(std::int64_t{1} << 60); },
              ThrowsMessage<Error>(AllOf(HasSubstr("out of memory"), HasSubstr("1073741824.00 GiB"),
                                         HasSubstr("GiB are available"))));
  EXPECT_THROW(MappedMemory memory(kMax), Error);
  EXPECT_THROW(MappedMemory::Reserve(std::int64_t{1} << 60), Error);
  EXPECT_THROW(MappedMemory::Reserve(kMax), Error);
}

TEST(MappedMemory, NegativeSizesAreABrokenInvariant) {
  EXPECT_THROW(MappedMemory memory(-1), std::logic_error);
  EXPECT_THROW(MappedMemory::Reserve(-1), std::logic_error);
}

TEST(Reserve, TakesAddressesButNoMemory) {
  const std::int64_t before = ResidentBytes();
  MappedMemory memory = MappedMemory::Reserve(std::int64_t{64} << 30);
  EXPECT_GE(memory.bytes(), std::int64_t{64} << 30);
  memory.Commit(0, 2 * kMiB);
  static_cast<char*>(memory.data())[0] = 1;
  EXPECT_LT(ResidentBytes() - before, 64 * kMiB);
}

TEST(Reserve, CommittedPartsAreZeroAndWritable) {
  MappedMemory memory = MappedMemory::Reserve(64 * kMiB);
  auto* data = static_cast<unsigned char*>(memory.data());
  memory.Commit(10 * kMiB, 10 * kMiB + 1);  // one byte makes its 2 MiB usable
  data[10 * kMiB] = 7;
  EXPECT_EQ(data[12 * kMiB - 1], 0);
  memory.Commit(62 * kMiB, memory.bytes());
  data[memory.bytes() - 1] = 8;
  memory.Commit(0, memory.bytes());  // again, and what was there stays
  EXPECT_EQ(data[10 * kMiB], 7);
  EXPECT_EQ(data[memory.bytes() - 1], 8);
  memory.Commit(5, 5);  // nothing
}

TEST(Reserve, CommitOutsideTheReservationIsABrokenInvariant) {
  MappedMemory memory = MappedMemory::Reserve(4 * kMiB);
  EXPECT_THROW(memory.Commit(-1, 5), std::logic_error);
  EXPECT_THROW(memory.Commit(6, 5), std::logic_error);
  EXPECT_THROW(memory.Commit(0, memory.bytes() + 1), std::logic_error);
}

TEST(ReserveDeathTest, TouchingWhatIsNotCommittedEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  MappedMemory memory = MappedMemory::Reserve(4 * kMiB);
  memory.Commit(0, 1);
  auto* data = static_cast<volatile char*>(memory.data());
  data[2 * kMiB - 1] = 1;
  EXPECT_DEATH(data[2 * kMiB] = 1, "");
}

TEST(Buffer, StartsAsZeros) {
  const Buffer<float> buffer(1000);
  EXPECT_EQ(buffer.size(), 1000);
  EXPECT_TRUE(IsAligned(buffer.data(), 64));
  EXPECT_THAT(buffer.span(), ::testing::Each(0.0F));
  EXPECT_EQ(Buffer<float>().size(), 0);
  EXPECT_TRUE(Buffer<float>().span().empty());
}

TEST(Buffer, NeverShrinksAndKeepsContentsWithinCapacity) {
  Buffer<std::int32_t> buffer(5000);
  const std::int32_t* data = buffer.data();
  buffer[17] = 42;
  buffer.EnsureSize(20);
  EXPECT_EQ(buffer.size(), 20);
  EXPECT_EQ(buffer.data(), data);
  buffer.EnsureSize(5000);
  EXPECT_EQ(buffer.data(), data) << "a size once held must not allocate again";
  EXPECT_EQ(buffer[17], 42);
  buffer.EnsureSize(1'000'000);
  EXPECT_EQ(buffer[17], 0);
  EXPECT_EQ(buffer[999'999], 0);
}

TEST(Buffer, RefusesSizesThatOverflowOrDoNotFit) {
  EXPECT_THAT([] { Buffer<double> buffer(kMax / 4); }, ThrowsMessage<Error>(HasSubstr("size overflow")));
  EXPECT_THAT([] { Buffer<char> buffer(kMax); }, ThrowsMessage<Error>(HasSubstr("out of memory")));
  EXPECT_THROW(Buffer<float> buffer(-1), std::logic_error);
}

TEST(Buffer, KeepsWhatItHadWhenGrowingFails) {
  Buffer<float> buffer(10);
  buffer[3] = 2.5F;
  EXPECT_THROW(buffer.EnsureSize(std::int64_t{1} << 58), Error);
  EXPECT_EQ(buffer.size(), 10);
  EXPECT_EQ(buffer[3], 2.5F);
}

}  // namespace
}  // namespace hotrow
