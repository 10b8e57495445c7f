#include "hotrow/measure/paired_ratio.h"

#include <algorithm>
#include <cmath>

#include "hotrow/base/error.h"
#include "hotrow/measure/statistics.h"

namespace hotrow {
namespace {

std::optional<double> RoundToRound(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  std::vector<double> changes;
  for (std::size_t i = 1; i < values.size(); ++i) changes.push_back(std::abs(values[i] / values[i - 1] - 1));
  return Median(changes);
}

Verdict Judge(const PairedRatio& ratio) {
  if (ratio.ratios.size() < PairedRatio::kMinRounds) return Verdict::kTooFewRounds;
  if (std::abs(ratio.median - 1) <= ratio.noise.value()) return Verdict::kInsideTheNoise;
  if (ratio.highest < 1) return Verdict::kLower;
  if (ratio.lowest > 1) return Verdict::kHigher;
  return Verdict::kInsideTheNoise;
}

}  // namespace

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kTooFewRounds:
      return "too few rounds";
    case Verdict::kInsideTheNoise:
      return "inside the noise";
    case Verdict::kLower:
      return "lower";
    case Verdict::kHigher:
      return "higher";
  }
  return "";
}

PairedRatio CompareRounds(std::span<const double> values, std::span<const double> baseline) {
  HOTROW_CHECK(!values.empty() && values.size() == baseline.size());
  PairedRatio result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    HOTROW_CHECK(values[i] >= 0 && baseline[i] > 0);
    result.ratios.push_back(values[i] / baseline[i]);
  }
  const auto [lowest, highest] = std::minmax_element(result.ratios.begin(), result.ratios.end());
  result.lowest = *lowest;
  result.highest = *highest;
  result.median = Median(result.ratios);
  result.noise = RoundToRound(baseline);
  result.verdict = Judge(result);
  return result;
}

}  // namespace hotrow
