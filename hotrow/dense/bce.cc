#include "hotrow/dense/bce.h"

#include <algorithm>
#include <cmath>

namespace hotrow {

double BceWithLogits(const float* logits, const float* labels, const float* weights, std::int64_t rows,
                     double scale, double total, float* dlogits) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const double x = logits[row];
    const double y = labels[row];
    const double e = std::exp(-std::fabs(x));
    const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[row]);
    total += weight * (std::max(x, 0.0) - x * y + std::log1p(e));
    const double sigmoid = x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    dlogits[row] = static_cast<float>(weight * (sigmoid - y) * scale);
  }
  return total;
}

}  // namespace hotrow
