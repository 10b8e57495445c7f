#pragma once
// How good a click prediction is. Everything is exact (no histograms, no sampling) and in double.
// Labels are 0 or 1. Scores and probabilities must be numbers, logits finite: a diverged model's throw Error.
//
// `weights`, one a sample, finite and >= 0, or none: how often a sample counts, as scikit-learn's
// sample_weight. Samples of weight 0 are as good as absent.

#include <cstdint>
#include <span>

namespace hotrow {

/// Area under the ROC curve: the chance that a random positive outranks a random negative, a tie counting one
/// half (Mann-Whitney's U with average ranks). O(n log n), 8 (float) or 16 (double) bytes a sample. NaN when
/// one of the classes is absent. The sum is an integer, exact; the result is correctly rounded below 2^52
/// pairs of a positive and a negative, and three roundings from exact beyond. With weights a pair counts the
/// product of its two, summed in double in the order of the scores; NaN where a class weighs nothing.
double RocAuc(std::span<const float> scores, std::span<const float> labels,
              std::span<const float> weights = {});
double RocAuc(std::span<const double> scores, std::span<const float> labels);

/// The AUC to expect from labels that are drawn with exactly these probabilities, ranked by them: the ceiling
/// of any model. O(n log n). NaN when all probabilities are 0, or all 1.
double ExpectedAuc(std::span<const double> probabilities);

/// Mean binary cross entropy in nats of logits, finite however large they are. NaN for no samples.
double LogLoss(std::span<const float> logits, std::span<const float> labels,
               std::span<const float> weights = {});
double LogLoss(std::span<const double> logits, std::span<const float> labels);

/// Share of ones. NaN for no samples.
double LabelRate(std::span<const float> labels, std::span<const float> weights = {});

/// Log loss over the entropy of always predicting the label rate: below 1 is better than a constant (He et
/// al., "Practical Lessons from Predicting Clicks on Ads at Facebook", ADKDD 2014). NaN when one of the
/// classes is absent.
double NormalizedEntropy(double log_loss, double label_rate);

}  // namespace hotrow
