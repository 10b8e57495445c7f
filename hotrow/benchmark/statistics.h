#pragma once
// Mean, median and quantiles of a benchmark's times.

#include <algorithm>
#include <numeric>
#include <vector>

namespace hotrow {

inline double Mean(const std::vector<double>& values) {
  return values.empty()
             ? 0
             : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The element at `quantile` in [0, 1] of the sorted values, nearest rank below; 0 for none.
inline double Quantile(std::vector<double> values, double quantile) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(quantile * static_cast<double>(values.size() - 1))];
}

/// The middle value, or the mean of the two in the middle; 0 for none.
inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace hotrow
