#pragma once
// Whether one configuration differs from another, from measurements taken in turn.
//
// In round i the baseline was measured, then (or before) the configuration: a machine that is slow for a
// while is slow for both, so their ratio says more than either figure. A difference is called one only when
//   - the ratio is on one side of 1 in every round, and
//   - |median ratio - 1| is larger than the noise: the median, over neighbouring rounds, of |b[i+1] / b[i] -
//   1|, by
//     how much the baseline differs from itself from one round to the next.
// Fewer than kMinRounds rounds say nothing. If nothing differs and noise is independent, the rule still sees
// a difference in 14 of 100 experiments of 3 rounds, 4 of 5 rounds, 1 of 7 (simulated, log-normal noise of 2
// or 10 %).

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hotrow {

enum class Verdict { kTooFewRounds, kInsideTheNoise, kLower, kHigher };
/// "too few rounds", "inside the noise", "lower", "higher".
std::string_view ToString(Verdict verdict);

struct PairedRatio {
  static constexpr std::size_t kMinRounds = 3;

  std::vector<double> ratios;  ///< [rounds] configuration / baseline
  double median = 1;
  double lowest = 1;
  double highest = 1;
  std::optional<double> noise;  ///< of the baseline, as above; none of a single round
  Verdict verdict = Verdict::kTooFewRounds;
};

/// One value of each in every round, at least one round; none is negative, and the baseline never 0.
PairedRatio CompareRounds(std::span<const double> values, std::span<const double> baseline);

}  // namespace hotrow
