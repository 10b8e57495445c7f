#pragma once
// Zipf-like row numbers from uniform ones.

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hotrow {

/// The continuous inverse CDF: for u in [0, 1) the row is floor(((n^(1-alpha) - 1) u + 1)^(1/(1-alpha)) - 1)
/// clipped to [0, n), row 0 the hottest; alpha = 1: n^u - 1. n >= 1, alpha >= 0.
class ZipfRows {
 public:
  ZipfRows(std::int64_t rows, double alpha) : last_(rows - 1) {
    const double power = 1.0 - alpha;
    logarithmic_ = std::abs(power) < 1e-9;  // the limit; nearer to 1 the power form cancels
    const auto n = static_cast<double>(rows);
    span_ = logarithmic_ ? n : std::pow(n, power) - 1.0;
    inverse_ = logarithmic_ ? 0.0 : 1.0 / power;
  }
  std::int64_t operator()(double u) const {
    const double x = logarithmic_ ? std::pow(span_, u) : std::pow(span_ * u + 1.0, inverse_);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(x - 1.0), 0, last_);
  }

 private:
  std::int64_t last_;
  bool logarithmic_;
  double span_;
  double inverse_;
};

}  // namespace hotrow
