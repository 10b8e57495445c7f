#pragma once
// "Sum" and "apply" as steps of their own, for when something happens between them: row-wise Adagrad under a
// column split exchanges the squares of the shards. Composed, they give the fused backward's bits.

#include <cstdint>
#include <vector>

#include "hotrow/embed/backward_scratch.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/embed/entry_sorter.h"
#include "hotrow/embed/reduction_units.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/optim/optimizer_factors.h"

namespace hotrow {

/// One table's touched rows and their summed gradients. The order is a function of the ids alone: shards of
/// one table that got the same ids list the same rows in the same order, whatever the threads of their ranks.
struct TouchedRows {
  std::int64_t count = 0;
  Buffer<std::int64_t> rows;  ///< [count], distinct
  Buffer<float> gradients;    ///< [count, dim]
};

/// Sums every touched row's gradient in the canonical order (FusedBackward). Keeps its scratch between calls.
class TouchedRowSum {
 public:
  /// `units` reduction units. Reuses the memory of `out`.
  void Run(const BagGradients& input, std::int64_t units, ThreadPool& pool, TouchedRows& out);

 private:
  template <typename E>
  void SortBucket(std::int64_t index, int thread, std::int64_t* rows_of_bucket);
  template <typename E>
  void SumBucket(std::int64_t index, int thread, const BagGradients& input, std::int64_t first,
                 TouchedRows& out);

  EntrySorter sorter_;
  ReductionUnits units_;
  BackwardScratch scratch_;
  std::vector<std::int64_t> first_of_bucket_;
};

/// Gives touched rows of a lazy table their memory, then applies the table's optimizer to each. For row-wise
/// Adagrad mean_squares[i] is the mean of g^2 over touched row i, all its columns, L2 decay included (null:
/// this table has all the columns, the mean is computed here); other optimizers ignore it. Allocates nothing
/// when `scratch`, the caller's to keep, has seen the pool and as wide a table.
void ApplyToRows(EmbeddingTable& table, OptimizerStep step, const TouchedRows& touched,
                 const float* mean_squares, BackwardScratch& scratch, ThreadPool& pool);

/// For a column shard under row-wise Adagrad: groups[i, SquareGroups(dim)], the sums of squares of touched
/// row i's aligned 4-column groups, L2 decay included. Groups of all shards side by side go into MeanSquare.
/// `scratch` as above.
void SquareGroupsOfRows(const EmbeddingTable& table, const TouchedRows& touched, float* groups,
                        BackwardScratch& scratch, ThreadPool& pool);

}  // namespace hotrow
