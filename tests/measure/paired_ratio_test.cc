// When `hotrow experiment` says that two configurations differ.

#include "hotrow/measure/paired_ratio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace hotrow {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(PairedRatio, TakesRatiosWithinARound) {
  // The machine is three times as slow in the second round, for both.
  const PairedRatio ratio = CompareRounds(std::vector<double>{8, 27, 8.8}, std::vector<double>{10, 30, 11});
  EXPECT_THAT(ratio.ratios, ElementsAre(DoubleEq(0.8), DoubleEq(0.9), DoubleEq(0.8)));
  EXPECT_DOUBLE_EQ(ratio.median, 0.8);
  EXPECT_DOUBLE_EQ(ratio.lowest, 0.8);
  EXPECT_DOUBLE_EQ(ratio.highest, 0.9);
  // |30 / 10 - 1| = 2 and |11 / 30 - 1| = 0.6333: their median is what the baseline differs from itself by.
  EXPECT_DOUBLE_EQ(ratio.noise.value(), (2 + (1 - 11.0 / 30)) / 2);
  EXPECT_EQ(ratio.verdict, Verdict::kInsideTheNoise) << "every round agrees, but 0.2 is less than the noise";
}

TEST(PairedRatio, SaysLowerAndHigherWhenRoundsAgreeBeyondTheNoise) {
  const std::vector<double> baseline = {100, 101, 100, 102, 101};
  EXPECT_EQ(CompareRounds(std::vector<double>{95, 96, 96, 95, 97}, baseline).verdict, Verdict::kLower);
  EXPECT_EQ(CompareRounds(std::vector<double>{105, 106, 104, 107, 106}, baseline).verdict, Verdict::kHigher);
  EXPECT_EQ(CompareRounds(std::vector<double>{95, 96, 96, 95, 101.5}, baseline).verdict,
            Verdict::kInsideTheNoise)
      << "one round says otherwise";
  EXPECT_EQ(CompareRounds(std::vector<double>{99.5, 100.5, 99.5, 101.5, 100.5}, baseline).verdict,
            Verdict::kInsideTheNoise)
      << "every round agrees on 0.995, and the baseline moves by 0.01";
  EXPECT_EQ(CompareRounds(baseline, baseline).verdict, Verdict::kInsideTheNoise);
  EXPECT_EQ(CompareRounds(std::vector<double>{0, 0, 0}, std::vector<double>{5, 5.1, 5}).verdict,
            Verdict::kLower);
}

TEST(PairedRatio, FewRoundsSayNothing) {
  EXPECT_EQ(CompareRounds(std::vector<double>{1}, std::vector<double>{100}).noise, std::nullopt);
  EXPECT_EQ(CompareRounds(std::vector<double>{1}, std::vector<double>{100}).verdict, Verdict::kTooFewRounds);
  EXPECT_EQ(CompareRounds(std::vector<double>{1, 1}, std::vector<double>{100, 100}).verdict,
            Verdict::kTooFewRounds);
  EXPECT_THROW(CompareRounds(std::vector<double>{1, 1}, std::vector<double>{1}), std::logic_error);
  EXPECT_THROW(CompareRounds(std::vector<double>{1}, std::vector<double>{0}), std::logic_error);
}

}  // namespace
}  // namespace hotrow
