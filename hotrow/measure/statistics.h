#pragma once
// Mean, median and quantiles of a benchmark's times. Of no values there are none: HOTROW_CHECK.

#include <algorithm>
#include <numeric>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow {

inline double Mean(const std::vector<double>& values) {
  HOTROW_CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The value at `quantile` in [0, 1] of the sorted values, on the line between the two next to it.
inline double Quantile(std::vector<double> values, double quantile) {
  HOTROW_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double place = quantile * static_cast<double>(values.size() - 1);
  const std::size_t below = Index(static_cast<std::int64_t>(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

/// The middle value, or the mean of the two in the middle.
inline double Median(std::vector<double> values) {
  HOTROW_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace hotrow
