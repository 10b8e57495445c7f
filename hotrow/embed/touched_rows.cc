#include "hotrow/embed/touched_rows.h"

#include <algorithm>
#include <span>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/embed/mean_square.h"
#include "hotrow/embed/row_kernels.h"

namespace hotrow {
namespace {

constexpr std::int64_t kRowsATask = 1024;

}  // namespace

template <typename E>
void TouchedRowSum::SortBucket(std::int64_t index, int thread, std::int64_t* rows_of_bucket) {
  const std::span<const E> entries = sorter_.Sort<E>(index, thread);
  std::int64_t distinct = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) distinct += i == 0 || entries[i].row != entries[i - 1].row;
  *rows_of_bucket = distinct;
}

template <typename E>
void TouchedRowSum::SumBucket(std::int64_t index, int thread, const BagGradients& input, std::int64_t first,
                              TouchedRows& out) {
  const std::int64_t dim = input.table->dim();
  const std::span<E> entries = sorter_.Sort<E>(index, thread);
  EntrySorter::Pad(entries);
  SumBucketRows(sorter_.bucket(index), std::span<const E>(entries), input, units_,
                scratch_.Of(thread, dim).partials,
                GradientSink{out.gradients.data() + first * dim, out.rows.data() + first});
}

void TouchedRowSum::Run(const BagGradients& input, std::int64_t units, ThreadPool& pool, TouchedRows& out) {
  const std::span<const BagGradients> tables(&input, 1);
  units_.Reset(tables, units);
  scratch_.EnsureSize(tables, pool);
  sorter_.Partition(tables, BucketsFollow::kIds, pool);
  const bool scaled = sorter_.buckets() > 0 && sorter_.bucket(0).scaled;
  first_of_bucket_.assign(Index(sorter_.buckets()) + 1, 0);
  // A bucket is sorted twice, to count its rows and to sum them: cheaper than gradients with room for every
  // entry.
  pool.Run(sorter_.buckets(), [&](std::int64_t task, int thread) {
    std::int64_t* rows = &first_of_bucket_[Index(task) + 1];
    scaled ? SortBucket<ScaledEntry>(task, thread, rows) : SortBucket<Entry>(task, thread, rows);
  });
  for (std::size_t b = 1; b < first_of_bucket_.size(); ++b) first_of_bucket_[b] += first_of_bucket_[b - 1];
  out.count = first_of_bucket_.back();
  out.rows.EnsureSize(out.count);
  out.gradients.EnsureSize(out.count * input.table->dim());
  pool.Run(sorter_.buckets(), [&](std::int64_t task, int thread) {
    const std::int64_t first = first_of_bucket_[Index(task)];
    scaled ? SumBucket<ScaledEntry>(task, thread, input, first, out)
           : SumBucket<Entry>(task, thread, input, first, out);
  });
}

void ApplyToRows(EmbeddingTable& table, OptimizerStep step, const TouchedRows& touched,
                 const float* mean_squares, BackwardScratch& scratch, ThreadPool& pool) {
  const std::int64_t dim = table.dim();
  const OptimizerFactors factors = MakeOptimizerFactors(table.optimizer(), step);
  scratch.EnsureSize(dim, pool);
  pool.Run(CeilDiv(touched.count, kRowsATask), [&](std::int64_t task, int thread) {
    const std::int64_t first = task * kRowsATask;
    const std::int64_t count = std::min(kRowsATask, touched.count - first);
    const std::int64_t* rows = touched.rows.data() + first;
    table.MakeResident({rows, Index(count)});
    UpdateRowBlock({table.view(), rows, 0, count, touched.gradients.data() + first * dim}, table.optimizer(),
                   factors, mean_squares == nullptr ? nullptr : mean_squares + first,
                   scratch.Of(thread, dim));
  });
}

void SquareGroupsOfRows(const EmbeddingTable& table, const TouchedRows& touched, float* groups,
                        BackwardScratch& scratch, ThreadPool& pool) {
  const std::int64_t dim = table.dim();
  const bool l2 = table.optimizer().weight_decay_mode == WeightDecayMode::kL2;
  const OptimizerFactors factors = MakeOptimizerFactors(table.optimizer(), 1);
  scratch.EnsureSize(dim, pool);
  pool.Run(CeilDiv(touched.count, kRowsATask), [&](std::int64_t task, int thread) {
    const BackwardScratch::Rows rows = scratch.Of(thread, dim);
    for (std::int64_t i = task * kRowsATask; i < std::min(touched.count, (task + 1) * kRowsATask); ++i) {
      if (l2) table.ReadRows(touched.rows[i], 1, rows.partials);
      SquareGroupsOfRow(touched.gradients.data() + i * dim, l2 ? rows.partials : nullptr, dim, factors, rows,
                        groups + i * SquareGroups(dim));
    }
  });
}

}  // namespace hotrow
