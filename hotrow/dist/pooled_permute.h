#pragma once
// Brings the columns of pooled rows into another order through a host buffer: copied out, permuted there,
// copied back. What the output dist does without; kept to measure the difference.

#include <cstdint>
#include <vector>

#include "hotrow/embed/pooled_view.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// `columns` columns of every sample, from one place to another.
struct ColumnMove {
  PooledPlace from;
  PooledPlace to;
  std::int64_t columns = 0;
};

class PooledPermute {
 public:
  /// Moves the columns of `rows` samples. Returns the bytes that it read and wrote.
  std::int64_t Run(const std::vector<ColumnMove>& moves, std::int64_t rows, const float* in, float* out,
                   ThreadPool& pool);

 private:
  Buffer<float> before_;  // [rows, columns in the order of `moves`]
  Buffer<float> after_;   // [rows, columns by where they go]
};

}  // namespace hotrow
