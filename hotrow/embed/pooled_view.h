#pragma once
// Where pooled rows go, or their gradients come from.

#include <cstdint>
#include <span>

namespace hotrow {

/// Feature f of sample s is at data[s * row_stride + columns[f]], as wide as its table. Non-owning. With
/// columns[f] = (f + 1) * D this is the tower's input itself, and nothing is concatenated;
/// FeatureMajorColumns make it the gradients that the tower leaves.
template <typename T>
struct PooledView {
  T* data = nullptr;
  std::int64_t row_stride = 0;            ///< floats
  std::span<const std::int64_t> columns;  ///< [F], the order of the batch's keys
};

/// Where the features of a [F, samples, dim] array begin: the columns of a view whose row stride is dim.
/// Ranks want the same columns, so `samples` is that of the rank which has most.
inline void FeatureMajorColumns(std::int64_t samples, std::int64_t dim, std::span<std::int64_t> columns) {
  for (std::size_t f = 0; f < columns.size(); ++f) columns[f] = static_cast<std::int64_t>(f) * samples * dim;
}

}  // namespace hotrow
