// The figures that `hotrow bench` prints of a run's times.

#include "hotrow/measure/statistics.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace hotrow {
namespace {

TEST(Statistics, QuantilesLieBetweenTheValuesNextToThem) {
  EXPECT_EQ(Quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(Quantile({30, 10, 20}, 0.1), 12);
  EXPECT_DOUBLE_EQ(Quantile({30, 10, 20}, 0.9), 28);
  EXPECT_DOUBLE_EQ(Quantile({30, 10, 20}, 0.5), 20);
  EXPECT_EQ(Quantile({30, 10, 20}, 0), 10);
  EXPECT_EQ(Quantile({30, 10, 20}, 1), 30);
}

TEST(Statistics, OfNothingThereAreNone) {
  EXPECT_THROW(Mean({}), std::logic_error);
  EXPECT_THROW(Median({}), std::logic_error);
  EXPECT_THROW(Quantile({}, 0.5), std::logic_error);
}

TEST(Statistics, MedianIsTheHalfQuantile) {
  EXPECT_DOUBLE_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0.5), 2.5);
}

}  // namespace
}  // namespace hotrow
