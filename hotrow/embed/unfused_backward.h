#pragma once
// The unfused backward, the measured baseline: a dense gradient as large as the table, and the optimizer over
// every row.

#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/embed/backward_scratch.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/embed/entry_sorter.h"
#include "hotrow/embed/reduction_units.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/optim/optimizer_factors.h"

namespace hotrow {

/// Eager tables only. Where a zero gradient means no change (SGD, Adagrad and row-wise Adagrad without decay,
/// eps > 0) the result is the fused backward's, bit for bit; Adam and decay move untouched rows too.
class UnfusedBackward {
 public:
  /// As FusedBackward::Run. `tables` are the same tables at every call: each has a gradient buffer here.
  void Run(std::span<const BagGradients> tables, OptimizerStep step, std::int64_t units, ThreadPool& pool);

  /// Bytes of gradient that a table takes.
  static std::int64_t GradientBytes(std::int64_t rows, std::int64_t dim);

 private:
  template <typename E>
  void StoreBucket(std::int64_t index, int thread, std::span<const BagGradients> tables);

  EntrySorter sorter_;
  ReductionUnits units_;
  std::vector<OptimizerFactors> factors_;  // of each table
  BackwardScratch scratch_;
  std::vector<Buffer<float>> gradients_;  // per table, [rows, dim]
};

}  // namespace hotrow
