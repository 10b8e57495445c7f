#pragma once
// The embedding part alone: pooled lookup, then backward and update, with a fixed gradient in place of a
// tower.

#include <cstdint>
#include <vector>

#include "hotrow/base/thread_pool.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/embed/table_config.h"

namespace hotrow {

struct SparseBenchmarkConfig {
  std::vector<std::string> features;
  SyntheticConfig data;
  std::int64_t batch_size = 4096;
  std::int64_t reduction_units = 8;
  std::int64_t steps = 50;
  std::int64_t warmup = 10;
};

struct SparseBenchmarkResult {
  std::vector<double> forward_seconds;   ///< [steps]
  std::vector<double> backward_seconds;  ///< [steps] backward and update
  std::int64_t ids_per_step = 0;
};

/// Ids are new each step and made outside the timed region.
SparseBenchmarkResult RunSparseBenchmark(const SparseBenchmarkConfig& config,
                                         EmbeddingBagCollection& embeddings, ThreadPool& pool);

}  // namespace hotrow
