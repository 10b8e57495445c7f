#pragma once
// Row-wise Adagrad's mean of g^2 over a row, in an order that column shards and every vector width can
// follow.

#include <cstdint>

namespace hotrow {

/// Aligned groups of 4 columns a row has; a group's sum is (g0^2 + g1^2) + (g2^2 + g3^2), missing columns 0.
constexpr std::int64_t SquareGroups(std::int64_t dim) { return (dim + 3) / 4; }

/// The mean over the full row of `dim` columns from its groups' sums: sixteen running sums, the j-th over the
/// groups j, j + 16, j + 32, ...; then halves are added, 16 -> 8 -> 4 -> 2 -> 1; then times the fp32 1 / dim.
inline float MeanSquare(const float* groups, std::int64_t dim) {
  float sums[16] = {};
  const std::int64_t count = SquareGroups(dim);
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (std::int64_t j = 0; j < 16; ++j) sums[j] += groups[i + j];
  }
  for (std::int64_t j = 0; i + j < count; ++j) sums[j] += groups[i + j];
  for (int half = 8; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0] * (1.0F / static_cast<float>(dim));
}

}  // namespace hotrow
