#pragma once
// The local collection of embedding tables: pooled lookup, fused or unfused backward. Knows nothing of ranks.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hotrow/embed/pooled_view.h"
#include "hotrow/embed/table.h"
#include "hotrow/embed/table_config.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/optim/optimizer_factors.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

enum class BackwardKernel { kFused, kUnfused };
BackwardKernel ParseBackwardKernel(
    const std::string& text);  ///< "fused", "unfused"; throws Error listing them

struct EmbeddingOptions {
  BackwardKernel kernel = BackwardKernel::kFused;
  StorageKind storage = StorageKind::kEager;
  std::uint64_t seed = 0;
};

/// Throws Error when eager tables of `row_bytes` (weights and state) and, with the unfused kernel, their
/// dense gradients of `gradient_bytes` do not fit in memory, and for the unfused kernel on lazy tables.
void CheckTableMemory(const EmbeddingOptions& options, std::int64_t row_bytes, std::int64_t gradient_bytes);

class EmbeddingBagCollection {
 public:
  /// Keys of every batch, in order: feature_names. Each is served by exactly one table. Throws Error for a
  /// feature without a table or with two, for the unfused kernel on lazy tables, and when eager tables do not
  /// fit in memory (saying what is needed and what there is).
  EmbeddingBagCollection(std::vector<EmbeddingTableConfig> tables, std::vector<std::string> feature_names,
                         const EmbeddingOptions& options, ThreadPool& pool);
  ~EmbeddingBagCollection();

  std::int64_t num_tables() const;
  EmbeddingTable& table(std::int64_t t);
  const EmbeddingTable& table(std::int64_t t) const;
  /// Table that feature f looks up in.
  std::int64_t TableOfFeature(std::int64_t f) const;

  /// Pools every bag of the batch (keys as feature_names) into `out`. Ids must have passed CheckIds.
  /// Allocates nothing once it has seen the largest batch. Never changes or grows a table, so evaluation
  /// costs no memory.
  void Forward(const KeyedJaggedTensor& batch, PooledView<float> out, ThreadPool& pool);

  /// Sums each touched row's gradient in canonical order (docs/ARCHITECTURE.md, "Determinism";
  /// `reduction_units` cuts the batch with EvenSlice) and applies its table's optimizer once to it. Fused:
  /// cost follows the ids. Unfused: a dense gradient as large as the table, and the optimizer over every row.
  void Backward(const KeyedJaggedTensor& batch, PooledView<const float> gradient,
                std::int64_t reduction_units, OptimizerStep step, ThreadPool& pool);

  /// Sum modulo 2^64 over (table name, row, aligned 4-column group, its bytes) of XXH3: weights, and
  /// optimizer state. Equal for eager and lazy tables and any sharding. Cost: every row of every table.
  std::uint64_t WeightsHash(ThreadPool& pool) const;
  std::uint64_t StateHash(ThreadPool& pool) const;

  /// Bytes of weights and optimizer state if every row were resident.
  std::int64_t LogicalBytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotrow
