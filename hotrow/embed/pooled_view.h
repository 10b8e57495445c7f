#pragma once
// Where pooled rows go, or their gradients come from.

#include <cstdint>
#include <span>

namespace hotrow {

/// Feature f of sample s is at data[s * row_stride + columns[f]], as wide as its table. Non-owning. With
/// columns[f] = (f + 1) * D this is the tower's input itself, and nothing is concatenated.
template <typename T>
struct PooledView {
  T* data = nullptr;
  std::int64_t row_stride = 0;            ///< floats
  std::span<const std::int64_t> columns;  ///< [F], the order of the batch's keys
};

}  // namespace hotrow
