#include "hotrow/embed/unfused_backward.h"

#include <algorithm>
#include <cstring>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/embed/row_kernels.h"

namespace hotrow {
namespace {

constexpr std::int64_t kFloatsATask = 1 << 18;

std::int64_t RowsATask(std::int64_t dim) { return std::max<std::int64_t>(1, kFloatsATask / dim); }

// Calls body(table, first row, rows, thread) for blocks of rows of all tables.
template <typename Body>
void ForEachRowBlock(std::span<const BagGradients> tables, ThreadPool& pool, Body&& body) {
  std::int64_t tasks = 0;
  for (const BagGradients& input : tables)
    tasks += CeilDiv(input.table->rows(), RowsATask(input.table->dim()));
  pool.Run(tasks, [&](std::int64_t task, int thread) {
    std::size_t t = 0;
    for (;; ++t) {
      const std::int64_t of_table = CeilDiv(tables[t].table->rows(), RowsATask(tables[t].table->dim()));
      if (task < of_table) break;
      task -= of_table;
    }
    const std::int64_t rows = RowsATask(tables[t].table->dim());
    body(t, task * rows, std::min(rows, tables[t].table->rows() - task * rows), thread);
  });
}

}  // namespace

std::int64_t UnfusedBackward::GradientBytes(std::int64_t rows, std::int64_t dim) {
  return CheckedMul(CheckedMul(rows, dim), sizeof(float));
}

template <typename E>
void UnfusedBackward::StoreBucket(std::int64_t index, int thread, std::span<const BagGradients> tables) {
  const EntrySorter::Bucket bucket = sorter_.bucket(index);
  const auto t = Index(bucket.table);
  const std::int64_t dim = tables[t].table->dim();
  const std::span<E> entries = sorter_.Sort<E>(index, thread);
  EntrySorter::Pad(entries);
  SumBucketRows(bucket, std::span<const E>(entries), tables[t], units_, scratch_.Of(thread, dim).partials,
                GradientSink{gradients_[t].data(), nullptr});
}

void UnfusedBackward::Run(std::span<const BagGradients> tables, OptimizerStep step, std::int64_t units,
                          ThreadPool& pool) {
  gradients_.resize(tables.size());
  factors_.clear();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const EmbeddingTable& table = *tables[t].table;
    factors_.push_back(MakeOptimizerFactors(table.optimizer(), step));
    if (table.storage_kind() != StorageKind::kEager) {
      Fail("table '{}': the unfused kernel updates every row and needs eager tables, not lazy ones",
           table.name());
    }
    gradients_[t].EnsureSize(table.rows() * table.dim());
  }
  units_.Reset(tables, units);
  scratch_.EnsureSize(tables, pool);

  ForEachRowBlock(tables, pool, [&](std::size_t t, std::int64_t first, std::int64_t rows, int) {
    const std::int64_t dim = tables[t].table->dim();
    std::memset(gradients_[t].data() + first * dim, 0, static_cast<std::size_t>(rows * dim) * sizeof(float));
  });
  sorter_.Partition(tables, BucketsFollow::kIdsAndThreads, pool);
  pool.Run(sorter_.buckets(), [&](std::int64_t task, int thread) {
    if (sorter_.bucket(task).scaled) {
      StoreBucket<ScaledEntry>(task, thread, tables);
    } else {
      StoreBucket<Entry>(task, thread, tables);
    }
  });
  ForEachRowBlock(tables, pool, [&](std::size_t t, std::int64_t first, std::int64_t rows, int thread) {
    const EmbeddingTable& table = *tables[t].table;
    UpdateRowBlock({table.view(), nullptr, first, rows, gradients_[t].data() + first * table.dim()},
                   table.optimizer(), factors_[t], nullptr, scratch_.Of(thread, table.dim()));
  });
}

}  // namespace hotrow
