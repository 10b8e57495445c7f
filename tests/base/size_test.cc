#include "hotrow/base/size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace hotrow {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(CheckedMul, IsExactUpToTheLimit) {
  EXPECT_EQ(CheckedMul(0, kMost), 0);
  EXPECT_EQ(CheckedMul(1, kMost), kMost);
  EXPECT_EQ(CheckedMul(40'000'000, 512), 20'480'000'000);
  EXPECT_EQ(CheckedMul(std::int64_t{1} << 31, std::int64_t{1} << 31), std::int64_t{1} << 62);
  EXPECT_EQ(CheckedMul(-3, 7), -21);
}

TEST(CheckedMul, RefusesWhatDoesNotFitAndNamesBothFactors) {
  EXPECT_THAT([] { CheckedMul(kMost, 2); },
              ThrowsMessage<Error>(AllOf(HasSubstr("overflow"), HasSubstr("9223372036854775807 x 2"))));
  EXPECT_THROW(CheckedMul(std::int64_t{1} << 32, std::int64_t{1} << 31), Error);
  EXPECT_THROW(CheckedMul(kMin, -1), Error);
}

TEST(CheckedAdd, IsExactUpToTheLimit) {
  EXPECT_EQ(CheckedAdd(kMost - 1, 1), kMost);
  EXPECT_EQ(CheckedAdd(kMin, kMost), -1);
}

TEST(CheckedAdd, RefusesWhatDoesNotFitAndNamesBothTerms) {
  EXPECT_THAT([] { CheckedAdd(kMost, 1); },
              ThrowsMessage<Error>(AllOf(HasSubstr("overflow"), HasSubstr("9223372036854775807 + 1"))));
  EXPECT_THROW(CheckedAdd(kMin, -1), Error);
}

TEST(CeilDiv, IsTheSmallestCountThatCovers) {
  for (std::int64_t b : {1, 2, 3, 7, 16, 100}) {
    for (std::int64_t a = 0; a <= 300; ++a) {
      const std::int64_t q = CeilDiv(a, b);
      EXPECT_GE(q * b, a) << a << " / " << b;
      EXPECT_LT((q - 1) * b, a) << a << " / " << b;
    }
  }
  EXPECT_EQ(CeilDiv(kMost, kMost), 1);
  EXPECT_EQ(CeilDiv(kMost, 1), kMost);  // a + b - 1 would have overflowed
}

TEST(RoundUp, IsTheNextMultiple) {
  EXPECT_EQ(RoundUp(0, 64), 0);
  EXPECT_EQ(RoundUp(1, 64), 64);
  EXPECT_EQ(RoundUp(64, 64), 64);
  EXPECT_EQ(RoundUp(65, 64), 128);
}

// Whatever is cut, the parts follow one another without gap or overlap, cover everything, differ by at most
// one in size, and the larger ones come first.
void ExpectEvenCut(std::int64_t total, std::int64_t parts) {
  std::int64_t expected_begin = 0;
  std::int64_t previous_size = kMost;
  std::int64_t smallest = kMost;
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const Slice slice = EvenSlice(total, parts, i);
    ASSERT_EQ(slice.begin, expected_begin) << total << " in " << parts << ", part " << i;
    ASSERT_LE(slice.size(), previous_size) << total << " in " << parts << ", part " << i;
    smallest = std::min(smallest, slice.size());
    largest = std::max(largest, slice.size());
    previous_size = slice.size();
    expected_begin = slice.end;
  }
  EXPECT_EQ(expected_begin, total);
  EXPECT_LE(largest - smallest, 1) << total << " in " << parts;
}

TEST(EvenSlice, CutsEvenly) {
  for (std::int64_t total = 0; total <= 40; ++total) {
    for (std::int64_t parts = 1; parts <= 17; ++parts) ExpectEvenCut(total, parts);
  }
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    const auto total = static_cast<std::int64_t>(random() % 1'000'000'000'000);
    const auto parts = static_cast<std::int64_t>(1 + random() % 300);
    ExpectEvenCut(total, parts);
  }
  ExpectEvenCut(kMost, 8);
}

TEST(EvenSlice, FewerItemsThanPartsLeavesTheLastPartsEmpty) {
  EXPECT_EQ(EvenSlice(3, 8, 2).size(), 1);
  EXPECT_EQ(EvenSlice(3, 8, 3).size(), 0);
  EXPECT_EQ(EvenSlice(3, 8, 7).size(), 0);
}

}  // namespace
}  // namespace hotrow
