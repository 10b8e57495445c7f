#include "hotrow/data/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename T>
void CheckScores(std::span<const T> scores, std::span<const float> labels) {
  HOTROW_CHECK(scores.size() == labels.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) Fail("the score of sample {} is not a number: the model has diverged", i);
  }
}

// A float's bits, reordered so that unsigned comparison is the float's; +0 and -0 are one score.
std::uint32_t OrderedBits(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

// Counts over groups of equal scores, fed in ascending order of the score.
class PairCounter {
 public:
  void Add(std::uint64_t positives, std::uint64_t negatives) {
    twice_ += static_cast<unsigned __int128>(positives) * (2 * negatives_ + negatives);
    positives_ += positives;
    negatives_ += negatives;
  }
  double Auc() const {
    if (positives_ == 0 || negatives_ == 0) return kNan;
    const unsigned __int128 pairs = static_cast<unsigned __int128>(positives_) * negatives_;
    return static_cast<double>(twice_) / (2.0 * static_cast<double>(pairs));
  }

 private:
  unsigned __int128 twice_ = 0;  // twice the pairs in order, ties counted once
  std::uint64_t positives_ = 0;
  std::uint64_t negatives_ = 0;
};

double WeightAt(std::span<const float> weights, std::size_t i) {
  return weights.empty() ? 1.0 : static_cast<double>(weights[i]);
}

template <typename T>
double MeanLoss(std::span<const T> logits, std::span<const float> labels, std::span<const float> weights) {
  HOTROW_CHECK(logits.size() == labels.size() && (weights.empty() || weights.size() == labels.size()));
  double sum = 0.0;
  double weight = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double z = logits[i];
    if (!std::isfinite(z)) Fail("the logit of sample {} is {}: the model has diverged", i, z);
    sum += WeightAt(weights, i) * (std::max(z, 0.0) - z * labels[i] + std::log1p(std::exp(-std::abs(z))));
    weight += WeightAt(weights, i);
  }
  return weight > 0.0 ? sum / weight : kNan;
}

double WeightedAuc(std::span<const float> scores, std::span<const float> labels,
                   std::span<const float> weights) {
  HOTROW_CHECK(weights.size() == labels.size());
  struct Sample {
    std::uint32_t score;
    float weight;  // its sign the label's: negative of a negative
    bool operator<(const Sample& other) const {
      return std::pair(score, weight) < std::pair(other.score, other.weight);
    }
  };
  std::vector<Sample> order(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    order[i] = {OrderedBits(scores[i]), labels[i] > 0.5F ? weights[i] : -weights[i]};
  }
  std::sort(order.begin(), order.end());
  double positives = 0.0;
  double negatives = 0.0;
  double in_order = 0.0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    double p = 0.0;
    double n = 0.0;
    for (; end < order.size() && order[end].score == order[begin].score; ++end) {
      const double weight = order[end].weight;
      (weight > 0.0 ? p : n) += std::abs(weight);
    }
    in_order += p * (negatives + 0.5 * n);
    positives += p;
    negatives += n;
    begin = end;
  }
  return positives > 0.0 && negatives > 0.0 ? in_order / (positives * negatives) : kNan;
}

}  // namespace

double RocAuc(std::span<const float> scores, std::span<const float> labels, std::span<const float> weights) {
  CheckScores(scores, labels);
  if (!weights.empty()) return WeightedAuc(scores, labels, weights);
  std::vector<std::uint64_t> keys(scores.size());  // score above, label in the lowest bit
  for (std::size_t i = 0; i < scores.size(); ++i) {
    keys[i] = (static_cast<std::uint64_t>(OrderedBits(scores[i])) << 1) | (labels[i] > 0.5F ? 1U : 0U);
  }
  std::sort(keys.begin(), keys.end());
  PairCounter pairs;
  for (std::size_t begin = 0; begin < keys.size();) {
    std::size_t end = begin;
    std::uint64_t positives = 0;
    for (; end < keys.size() && (keys[end] >> 1) == (keys[begin] >> 1); ++end) positives += keys[end] & 1;
    pairs.Add(positives, end - begin - positives);
    begin = end;
  }
  return pairs.Auc();
}

double RocAuc(std::span<const double> scores, std::span<const float> labels) {
  CheckScores(scores, labels);
  std::vector<std::pair<double, bool>> order(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) order[i] = {scores[i], labels[i] > 0.5F};
  std::sort(order.begin(), order.end());
  PairCounter pairs;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    std::uint64_t positives = 0;
    for (; end < order.size() && order[end].first == order[begin].first; ++end) {
      positives += order[end].second ? 1 : 0;
    }
    pairs.Add(positives, end - begin - positives);
    begin = end;
  }
  return pairs.Auc();
}

double ExpectedAuc(std::span<const double> probabilities) {
  std::vector<double> order(probabilities.begin(), probabilities.end());
  std::sort(order.begin(), order.end());
  double positives = 0.0;
  double negatives = 0.0;
  double in_order = 0.0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && order[end] == order[begin]) ++end;
    const double p = order[begin] * static_cast<double>(end - begin);
    const double n = (1.0 - order[begin]) * static_cast<double>(end - begin);
    in_order += p * (negatives + 0.5 * n);
    positives += p;
    negatives += n;
    begin = end;
  }
  return positives > 0.0 && negatives > 0.0 ? in_order / (positives * negatives) : kNan;
}

double LogLoss(std::span<const float> logits, std::span<const float> labels, std::span<const float> weights) {
  return MeanLoss(logits, labels, weights);
}
double LogLoss(std::span<const double> logits, std::span<const float> labels) {
  return MeanLoss(logits, labels, {});
}

double LabelRate(std::span<const float> labels, std::span<const float> weights) {
  double ones = 0.0;
  double weight = 0.0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ones += WeightAt(weights, i) * labels[i];
    weight += WeightAt(weights, i);
  }
  return weight > 0.0 ? ones / weight : kNan;
}

double NormalizedEntropy(double log_loss, double label_rate) {
  if (!(label_rate > 0.0 && label_rate < 1.0)) return kNan;
  const double entropy = -label_rate * std::log(label_rate) - (1.0 - label_rate) * std::log1p(-label_rate);
  return log_loss / entropy;
}

}  // namespace hotrow
