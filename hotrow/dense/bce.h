#pragma once
// Binary cross entropy on logits.

#include <cstdint>

namespace hotrow {

/// Adds every row's loss, max(x, 0) - x y + log(1 + exp(-|x|)), in row order to `total` and returns it, and
/// writes dlogits = (sigmoid(x) - y) * scale; both times the row's weight where there are weights (null: 1
/// each). In double: neither large logits nor many rows cost accuracy. Labels may be anything in [0, 1].
double BceWithLogits(const float* logits, const float* labels, const float* weights, std::int64_t rows,
                     double scale, double total, float* dlogits);

}  // namespace hotrow
