#include "hotrow/base/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

namespace hotrow {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The counter that RandomWords builds is (low a, high a, b, stream); any 32-bit value may stand for the
// stream here.
Words Philox(const Words& counter, std::array<std::uint32_t, 2> key) {
  const std::uint64_t seed = (static_cast<std::uint64_t>(key[1]) << 32) | key[0];
  const std::uint64_t a = (static_cast<std::uint64_t>(counter[1]) << 32) | counter[0];
  return RandomWords(seed, static_cast<RandomStream>(counter[3]), a, counter[2]);
}

// Known answers published with Random123 for philox4x32 with 10 rounds: all zeros, all ones, and digits of
// pi.
TEST(RandomWords, GivesPhiloxsKnownAnswers) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Every part of where a number is used must reach the words, or two places would share their numbers.
TEST(RandomWords, EveryArgumentSeparates) {
  std::set<Words> seen;
  std::size_t made = 0;
  for (std::uint64_t seed : {0ULL, 1ULL, 1ULL << 32, 0xffffffffffffffffULL}) {
    for (RandomStream stream :
         {RandomStream::kEmbeddingInit, RandomStream::kDenseInit, RandomStream::kSyntheticIds,
          RandomStream::kSyntheticDense, RandomStream::kShuffle, RandomStream::kPlanted}) {
      for (std::uint64_t a : {0ULL, 1ULL, 1ULL << 32, 1ULL << 63}) {
        for (std::uint32_t b : {0U, 1U, 0x80000000U}) {
          seen.insert(RandomWords(seed, stream, a, b));
          ++made;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
}

TEST(UnitFloat, StaysBelowOneAndIsExact) {
  EXPECT_EQ(UnitFloat(0), 0.0F);
  EXPECT_EQ(UnitFloat(0x80000000), 0.5F);
  EXPECT_EQ(UnitFloat(0xffffffff), 1.0F - 0x1.0p-24F);
  EXPECT_EQ(UnitFloat(0xff), 0.0F);
}

TEST(UnitDouble, StaysBelowOneAndUses53Bits) {
  EXPECT_EQ(UnitDouble(0, 0), 0.0);
  EXPECT_EQ(UnitDouble(0x80000000, 0), 0.5);
  EXPECT_EQ(UnitDouble(0, 1U << 11), 0x1.0p-53);
  EXPECT_EQ(UnitDouble(0xffffffff, 0xffffffff), 1.0 - 0x1.0p-53);
}

// Pearson's statistic over `counts`, all equally likely. Its mean is the number of cells less one, its
// variance twice that.
double ChiSquare(const std::vector<std::int64_t>& counts, std::int64_t draws) {
  const double expected = static_cast<double>(draws) / static_cast<double>(counts.size());
  double sum = 0;
  for (std::int64_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    sum += difference * difference / expected;
  }
  return sum;
}

TEST(RandomSequence, DoublesFillTheUnitIntervalEvenly) {
  constexpr std::int64_t kDraws = 200'000;
  RandomSequence random(3, RandomStream::kPlanted);
  std::vector<std::int64_t> counts(100);
  double sum = 0;
  for (std::int64_t i = 0; i < kDraws; ++i) {
    const double u = random.NextDouble();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++counts[static_cast<std::size_t>(u * 100)];
    sum += u;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 4 / std::sqrt(12.0 * kDraws));
  EXPECT_LT(ChiSquare(counts, kDraws), 99 + 4 * std::sqrt(2 * 99.0));
}

TEST(RandomSequence, BelowIsUniformAndInRange) {
  RandomSequence random(4, RandomStream::kShuffle);
  for (std::int64_t n : {1, 2, 3, 7, 26, 100}) {
    constexpr std::int64_t kDraws = 50'000;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < kDraws; ++i) {
      const std::int64_t value = random.NextBelow(n);
      ASSERT_GE(value, 0);
      ASSERT_LT(value, n);
      ++counts[static_cast<std::size_t>(value)];
    }
    const double freedom = static_cast<double>(n - 1);
    EXPECT_LE(ChiSquare(counts, kDraws), freedom + 4 * std::sqrt(2 * freedom)) << n;
  }
}

TEST(RandomSequence, BelowReachesBeyond32Bits) {
  RandomSequence random(5, RandomStream::kShuffle);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  bool large = false;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t value = random.NextBelow(kMax);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, kMax);
    large = large || value > (kMax >> 1);
  }
  EXPECT_TRUE(large);
}

TEST(RandomSequence, NormalsHaveTheirMoments) {
  constexpr int kDraws = 200'000;
  RandomSequence random(6, RandomStream::kDenseInit);
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double z = random.NextNormal();
    ASSERT_TRUE(std::isfinite(z));
    sum += z;
    squares += z * z;
    fourths += z * z * z * z;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 4 / std::sqrt(1.0 * kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 4 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourths / kDraws, 3.0, 4 * std::sqrt(96.0 / kDraws));
}

TEST(RandomSequence, ReadsTheCountersInOrder) {
  RandomSequence random(7, RandomStream::kSyntheticIds, 9);
  for (std::uint64_t counter = 0; counter < 5; ++counter) {
    for (std::uint32_t word : RandomWords(7, RandomStream::kSyntheticIds, counter, 9)) {
      EXPECT_EQ(random.NextWord(), word);
    }
  }
}

TEST(RandomSequence, StreamsDoNotFollowOneAnother) {
  RandomSequence a(8, RandomStream::kShuffle, 0);
  RandomSequence b(8, RandomStream::kShuffle, 1);
  RandomSequence c(8, RandomStream::kPlanted, 0);
  double ab = 0;
  double ac = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = a.NextDouble() - 0.5;
    ab += x * (b.NextDouble() - 0.5);
    ac += x * (c.NextDouble() - 0.5);
  }
  const double bound =
      4 / 12.0 / std::sqrt(1.0 * kDraws);  // four deviations of a mean of products of uniforms
  EXPECT_LT(std::abs(ab / kDraws), bound);
  EXPECT_LT(std::abs(ac / kDraws), bound);
}

TEST(MixSeed, SeparatesSeedsAndSalts) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t salt = 0; salt < 100; ++salt) seen.insert(MixSeed(seed, salt));
  }
  EXPECT_EQ(seen.size(), 10'000U);
}

}  // namespace
}  // namespace hotrow
