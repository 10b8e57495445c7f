#pragma once
// The slow, obvious versions in double precision, and random inputs for both.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "hotrow/base/rng.h"

namespace hotrow::test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline std::size_t Z(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Uniform in [-1, 1).
inline Floats RandomFloats(std::int64_t size, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kSyntheticDense);
  Floats out(Z(size));
  for (float& value : out) value = 2.0F * UnitFloat(random.NextWord()) - 1.0F;
  return out;
}

inline Doubles ToDouble(const Floats& in) { return {in.begin(), in.end()}; }

/// c[m, n] = a[m, k] · b[k, n], either operand stored transposed when asked.
inline Doubles NaiveProduct(const Doubles& a, const Doubles& b, std::int64_t m, std::int64_t n,
                            std::int64_t k, bool a_transposed = false, bool b_transposed = false) {
  Doubles c(Z(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t l = 0; l < k; ++l) {
      const double left = a[Z(a_transposed ? l * m + i : i * k + l)];
      for (std::int64_t j = 0; j < n; ++j)
        c[Z(i * n + j)] += left * b[Z(b_transposed ? j * k + l : l * n + j)];
    }
  }
  return c;
}

/// |actual - expected| <= tolerance * (1 + |expected|), element by element.
inline void ExpectClose(const float* actual, const Doubles& expected, double tolerance, const char* what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], tolerance * (1.0 + std::fabs(expected[i])))
        << what << " element " << i << " of " << expected.size();
  }
}
inline void ExpectClose(const Floats& actual, const Doubles& expected, double tolerance, const char* what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  ExpectClose(actual.data(), expected, tolerance, what);
}

}  // namespace hotrow::test
