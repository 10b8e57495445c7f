#pragma once
// What the memory of this machine allows a lookup and a backward: the rows of the very tables that a
// benchmark uses, read, or read and written back, with prefetching and nothing else to do. Rows are drawn
// evenly over all resident rows of all tables, so a batch most of whose ids fall on small tables, which
// caches hold, can be served faster.

#include <cstdint>
#include <span>

#include "hotrow/comm/communicator.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/embed/table.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/model/config.h"
#include "hotrow/sharded/sharded_embedding_bag_collection.h"

namespace hotrow {

/// Of all threads together; 0 where no row is resident.
struct RowRate {
  double rows_per_s = 0;
  double weights_per_s = 0;  ///< of those rows: what adds up where ranks hold parts of rows
};

struct RowLimits {
  RowRate gather;  ///< a row's weights read, in random order: what a lookup does
  /// Weights and optimizer state read and written back, distinct rows in ascending order: what a backward
  /// does once its entries are sorted.
  RowRate update;
};

/// Writes back what it reads, so the tables keep their values; nothing else may use them meanwhile. Takes
/// about a second.
RowLimits MeasureRowLimits(std::span<const EmbeddingTable* const> tables, ThreadPool& pool);

/// The rows of one step of a whole world, and their weights.
struct RowWork {
  std::int64_t rows_read = 0;     ///< ids
  std::int64_t rows_updated = 0;  ///< distinct rows of a table that the ids name
  std::int64_t weights_read = 0;
  std::int64_t weights_updated = 0;
};

/// Those of the first step; others differ little. O(ids log ids) of the global batch.
RowWork CountRowWork(const ModelConfig& model, const SyntheticConfig& data, std::int64_t global_batch,
                     ThreadPool& pool);

/// What all ranks together read and update, each from its own shards: whole rows, of the mean width of the
/// model's rows. Where a row is cut by columns it takes several ranks' parts.
struct WorldRowLimits {
  double gather_rows_per_s = 0;
  double update_rows_per_s = 0;
  double gather_weights_per_s = 0;
  double update_weights_per_s = 0;

  /// Of a step's rows, read once and updated once.
  double SecondsOf(const RowWork& work) const {
    return static_cast<double>(work.weights_read) / gather_weights_per_s +
           static_cast<double>(work.weights_updated) / update_weights_per_s;
  }
};

/// Collective.
WorldRowLimits MeasureRowLimits(const ShardedEmbeddingBagCollection& embeddings, Communicator& comm,
                                ThreadPool& pool);

}  // namespace hotrow
