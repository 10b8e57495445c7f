#include "hotrow/data/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The definition: every pair of a positive and a negative.
double PairwiseAuc(const std::vector<float>& scores, const std::vector<float>& labels) {
  double in_order = 0.0;
  double pairs = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (labels[i] != 1.0F || labels[j] != 0.0F) continue;
      in_order += scores[i] > scores[j] ? 1.0 : (scores[i] == scores[j] ? 0.5 : 0.0);
      pairs += 1.0;
    }
  }
  return in_order / pairs;
}

TEST(RocAuc, EqualsTheDefinitionWithTies) {
  RandomSequence random(11, RandomStream::kShuffle);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> scores = {-1.0F, 1.0F};
    std::vector<float> labels = {1.0F, 0.0F};
    const std::int64_t n = random.NextBelow(60);
    for (std::int64_t i = 0; i < n; ++i) {
      scores.push_back(static_cast<float>(random.NextBelow(9) - 4) / 3.0F);
      labels.push_back(static_cast<float>(random.NextBelow(2)));
    }
    const std::vector<double> wide(scores.begin(), scores.end());
    EXPECT_DOUBLE_EQ(RocAuc(scores, labels), PairwiseAuc(scores, labels));
    EXPECT_DOUBLE_EQ(RocAuc(wide, labels), PairwiseAuc(scores, labels));
  }
}

// scikit-learn's sample_weight by the definition: a pair counts the product of its weights.
double PairwiseAuc(const std::vector<float>& scores, const std::vector<float>& labels,
                   const std::vector<float>& weights) {
  double in_order = 0.0;
  double pairs = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (labels[i] != 1.0F || labels[j] != 0.0F) continue;
      const double weight = static_cast<double>(weights[i]) * static_cast<double>(weights[j]);
      in_order += weight * (scores[i] > scores[j] ? 1.0 : (scores[i] == scores[j] ? 0.5 : 0.0));
      pairs += weight;
    }
  }
  return in_order / pairs;
}

TEST(WeightedMetrics, EqualTheDefinitions) {
  RandomSequence random(12, RandomStream::kShuffle);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> scores = {-1.0F, 1.0F};
    std::vector<float> labels = {1.0F, 0.0F};
    std::vector<float> weights = {0.3F, 2.0F};
    for (std::int64_t n = random.NextBelow(200); n > 0; --n) {
      scores.push_back(static_cast<float>(random.NextBelow(9) - 4) / 3.0F);
      labels.push_back(static_cast<float>(random.NextBelow(2)));
      const bool none = random.NextBelow(5) == 0;
      weights.push_back(none ? 0.0F : static_cast<float>(std::exp(10 * random.NextDouble() - 5)));
    }
    EXPECT_NEAR(RocAuc(scores, labels, weights), PairwiseAuc(scores, labels, weights), 1e-12);
    double loss = 0.0;
    double ones = 0.0;
    double weight = 0.0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double w = weights[i];
      const double p = 1.0 / (1.0 + std::exp(-static_cast<double>(scores[i])));
      loss -= w * (labels[i] == 1.0F ? std::log(p) : std::log(1.0 - p));
      ones += w * static_cast<double>(labels[i]);
      weight += w;
    }
    EXPECT_NEAR(LogLoss(scores, labels, weights), loss / weight, 1e-12);
    EXPECT_NEAR(LabelRate(labels, weights), ones / weight, 1e-12);
  }
}

// Whole weights count like so many samples; none, like a sample that is absent; equal ones change nothing.
TEST(WeightedMetrics, AreThoseOfRepeatedSamples) {
  const std::vector<float> scores = {-1, 0.5F, 0.5F, 2, 1, 3};
  const std::vector<float> labels = {0, 1, 0, 1, 0, 0};
  const std::vector<float> weights = {2, 1, 3, 1, 2, 0};
  std::vector<float> repeated_scores;
  std::vector<float> repeated_labels;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto times = static_cast<std::size_t>(weights[i]);
    repeated_scores.insert(repeated_scores.end(), times, scores[i]);
    repeated_labels.insert(repeated_labels.end(), times, labels[i]);
  }
  EXPECT_DOUBLE_EQ(RocAuc(scores, labels, weights), RocAuc(repeated_scores, repeated_labels));
  EXPECT_DOUBLE_EQ(LogLoss(scores, labels, weights), LogLoss(repeated_scores, repeated_labels));
  EXPECT_DOUBLE_EQ(LabelRate(labels, weights), LabelRate(repeated_labels));
  const std::vector<float> same(6, 0.7F);
  EXPECT_NEAR(RocAuc(scores, labels, same), RocAuc(scores, labels), 1e-15);
}

TEST(WeightedMetrics, AClassThatWeighsNothingHasNoAuc) {
  const std::vector<float> scores = {1, 2, 3};
  const std::vector<float> labels = {1, 0, 0};
  EXPECT_TRUE(std::isnan(RocAuc(scores, labels, std::vector<float>{0, 1, 1})));
  EXPECT_TRUE(std::isnan(RocAuc(scores, labels, std::vector<float>{1, 0, 0})));
  EXPECT_TRUE(std::isnan(LogLoss(scores, labels, std::vector<float>{0, 0, 0})));
}

TEST(RocAuc, SignedZerosTieAndInfinitiesRank) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(RocAuc(std::vector<float>{0.0F, -0.0F}, std::vector<float>{1, 0}), 0.5);
  EXPECT_EQ(RocAuc(std::vector<float>{kInf, -kInf, 0.0F}, std::vector<float>{1, 0, 0}), 1.0);
}

TEST(RocAuc, OneClassIsNanAndNanScoresAreErrors) {
  EXPECT_TRUE(std::isnan(RocAuc(std::vector<float>{1, 2}, std::vector<float>{1, 1})));
  EXPECT_TRUE(std::isnan(RocAuc(std::vector<float>{}, std::vector<float>{})));
  EXPECT_THAT(
      [] {
        RocAuc(std::vector<float>{1, NAN}, std::vector<float>{1, 0});
      },
      ThrowsMessage<Error>(HasSubstr("the score of sample 1 is not a number")));
}

TEST(LogLoss, OfADivergedModelIsAnError) {
  for (const float logit : {NAN, std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(
        [&] {
          LogLoss(std::vector<float>{1, logit}, std::vector<float>{1, 0});
        },
        ThrowsMessage<Error>(::testing::MatchesRegex("the logit of sample 1 is (nan|inf): .*diverged")));
  }
}

TEST(ExpectedAuc, IsTheMeanOfDrawnAucs) {
  RandomSequence random(12, RandomStream::kShuffle);
  std::vector<double> probabilities(400);
  for (double& p : probabilities) p = random.NextDouble();
  double sum = 0.0;
  constexpr int kDraws = 400;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<float> labels;
    for (const double p : probabilities) labels.push_back(random.NextDouble() < p ? 1.0F : 0.0F);
    sum += RocAuc(probabilities, labels);
  }
  EXPECT_NEAR(ExpectedAuc(probabilities), sum / kDraws, 3e-3);
  EXPECT_DOUBLE_EQ(ExpectedAuc(std::vector<double>{0.3, 0.3, 0.3}), 0.5);
}

TEST(LogLoss, KnownValuesAndLargeLogits) {
  EXPECT_NEAR(LogLoss(std::vector<float>{0.0F, 0.0F}, std::vector<float>{1, 0}), std::log(2.0), 1e-12);
  EXPECT_NEAR(LogLoss(std::vector<double>{1000.0, -1000.0}, std::vector<float>{0, 0}), 500.0, 1e-9);
  const double z = 0.7;
  EXPECT_NEAR(LogLoss(std::vector<double>{z}, std::vector<float>{1}), -std::log(1.0 / (1.0 + std::exp(-z))),
              1e-12);
}

TEST(NormalizedEntropy, IsOneForTheConstantPrediction) {
  const std::vector<float> labels = {1, 0, 0, 0};
  const double rate = LabelRate(labels);
  EXPECT_DOUBLE_EQ(rate, 0.25);
  const std::vector<double> logits(4, std::log(rate / (1.0 - rate)));
  EXPECT_NEAR(NormalizedEntropy(LogLoss(logits, labels), rate), 1.0, 1e-12);
  EXPECT_TRUE(std::isnan(NormalizedEntropy(0.5, 0.0)));
}

}  // namespace
}  // namespace hotrow
