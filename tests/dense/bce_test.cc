#include "hotrow/dense/bce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/dense/naive.h"

namespace hotrow {
namespace {

TEST(BceTest, MatchesTheDefinition) {
  const float logits[] = {-3.0F, -0.5F, 0.0F, 0.25F, 2.0F};
  const float labels[] = {0.0F, 1.0F, 1.0F, 0.0F, 0.5F};
  float dlogits[5];
  const double total = BceWithLogits(logits, labels, nullptr, 5, 0.125, 10.0, dlogits);
  double expected = 10.0;
  for (int i = 0; i < 5; ++i) {
    const double p = 1.0 / (1.0 + std::exp(-double{logits[i]}));
    expected += -(labels[i] * std::log(p) + (1.0 - labels[i]) * std::log(1.0 - p));
    EXPECT_NEAR(dlogits[i], (p - labels[i]) * 0.125, 1e-8);
  }
  EXPECT_NEAR(total, expected, 1e-12);
}

TEST(BceTest, LargeLogitsStayFiniteAndExact) {
  const float logits[] = {1e4F, 1e4F, -1e4F, -1e4F, -100.0F};
  const float labels[] = {1.0F, 0.0F, 1.0F, 0.0F, 0.0F};
  const double losses[] = {0.0, 1e4, 1e4, 0.0, std::exp(-100.0)};
  const double slopes[] = {0.0, 1.0, -1.0, 0.0, std::exp(-100.0)};
  for (int i = 0; i < 5; ++i) {
    float dlogit = NAN;
    EXPECT_DOUBLE_EQ(BceWithLogits(&logits[i], &labels[i], nullptr, 1, 1.0, 0.0, &dlogit), losses[i]);
    EXPECT_FLOAT_EQ(dlogit, static_cast<float>(slopes[i]));
  }
}

// A unit in two micro-batches sums its loss as in one.
TEST(BceTest, GoesOnFromATotal) {
  const test::Floats logits = test::RandomFloats(101, 1), labels = test::RandomFloats(101, 2);
  test::Floats d(101);
  const double once = BceWithLogits(logits.data(), labels.data(), nullptr, 101, 1.0, 0.0, d.data());
  const double part = BceWithLogits(logits.data(), labels.data(), nullptr, 60, 1.0, 0.0, d.data());
  EXPECT_EQ(BceWithLogits(logits.data() + 60, labels.data() + 60, nullptr, 41, 1.0, part, d.data()), once);
  EXPECT_EQ(BceWithLogits(nullptr, nullptr, nullptr, 0, 1.0, 7.0, nullptr), 7.0);
}

TEST(Bce, AWeightMultipliesARowsLossAndGradient) {
  const float logits[] = {0.5F, -2.0F, 3.0F};
  const float labels[] = {1, 0, 1};
  const float weights[] = {2.0F, 0.0F, 0.25F};
  float plain[3];
  float weighted[3];
  double expected = 10.0;
  for (int i = 0; i < 3; ++i) {
    const double loss = BceWithLogits(&logits[i], &labels[i], nullptr, 1, 0.5, 0.0, &plain[i]);
    expected += static_cast<double>(weights[i]) * loss;
  }
  EXPECT_DOUBLE_EQ(BceWithLogits(logits, labels, weights, 3, 0.5, 10.0, weighted), expected);
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(weighted[i], weights[i] * plain[i]);
}

}  // namespace
}  // namespace hotrow
