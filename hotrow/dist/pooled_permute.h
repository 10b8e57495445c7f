#pragma once
// Brings the columns of pooled rows into another order through a host buffer: copied out, permuted there,
// copied back. What the output dist does without; kept to measure the difference.

#include <cstdint>
#include <vector>

#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// Columns [from, from + columns) of a row become columns [to, to + columns).
struct ColumnMove {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t columns = 0;
};

class PooledPermute {
 public:
  /// Moves the columns of `rows` rows; strides in floats. Returns the bytes that it read and wrote.
  std::int64_t Run(const std::vector<ColumnMove>& moves, std::int64_t rows, const float* in,
                   std::int64_t in_stride, float* out, std::int64_t out_stride, ThreadPool& pool);

 private:
  Buffer<float> before_;  // [rows, columns in the order of `moves`]
  Buffer<float> after_;   // [rows, columns by `to`]
};

}  // namespace hotrow
