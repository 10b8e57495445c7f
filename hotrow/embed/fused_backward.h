#pragma once
// The fused backward: each touched row's gradient is summed once and the optimizer applied once, in one pass
// over the touched rows. Cost follows the ids of the batch, not the tables.

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

class FusedBackward {
 public:
  /// Updates every row that a bag of `tables` touches, by its table's optimizer; all have the same segments,
  /// together cut into `units` reduction units (ReductionUnits::Reset). A row's gradient: the bags' gradients
  /// (times weight, 1 / n, or their rounded product) in the order (sample, feature, position) inside a unit,
  /// units combined by the tree of hotrow/base/tree_sum.h. Gives lazy tables' rows their memory. Throws Error
  /// when a lazy table runs out of memory: weights are then partly updated. Allocates nothing once it has
  /// seen the largest batch, but for lazy rows.
  void Run(std::span<const BagGradients> tables, OptimizerStep step, std::int64_t units, ThreadPool& pool);

 private:
  template <typename E>
  void UpdateBucket(std::int64_t index, int thread, std::span<const BagGradients> tables);

  EntrySorter sorter_;
  ReductionUnits units_;
  std::vector<OptimizerFactors> factors_;  // of each table
  BackwardScratch scratch_;
  std::vector<Buffer<std::int64_t>> absent_;  // per thread: rows that a lazy table is to be given
};

}  // namespace hotrow
