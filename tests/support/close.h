#pragma once
// Comparing arrays: one failure message that names the worst element, not one a number.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace hotrow::reference {

struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-6;
  double of_largest =
      0;  ///< relative to the largest element: what sums of cancelling terms of that size leave
};

/// |actual - expected| is at most the tolerance's three parts together (+ doubt, where given) for every
/// element; NaN is never close.
template <typename A, typename B>
::testing::AssertionResult Close(const A& actual, const B& expected, Tolerance tolerance = {},
                                 const std::vector<double>& doubt = {}) {
  if (std::size(actual) != std::size(expected)) {
    return ::testing::AssertionFailure() << std::size(actual) << " elements, not " << std::size(expected);
  }
  double largest = 0;
  for (const auto& e : expected) largest = std::max(largest, std::abs(static_cast<double>(e)));
  double worst = 0;
  std::size_t at = 0, wrong = 0;
  for (std::size_t i = 0; i < std::size(actual); ++i) {
    const auto a = static_cast<double>(actual[i]);
    const auto e = static_cast<double>(expected[i]);
    const double allowed = tolerance.absolute + tolerance.of_largest * largest +
                           tolerance.relative * std::abs(e) + (doubt.empty() ? 0.0 : doubt[i]);
    const double excess = std::abs(a - e) / allowed;
    if (excess <= 1) continue;
    ++wrong;
    if (wrong == 1 || !(excess <= worst)) {
      worst = excess;
      at = i;
    }
  }
  if (wrong == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << wrong << " of " << std::size(actual) << " elements differ, the worst [" << at
         << "]: " << static_cast<double>(actual[at]) << ", expected " << static_cast<double>(expected[at])
         << " (" << worst << " times the tolerance)";
}

}  // namespace hotrow::reference
