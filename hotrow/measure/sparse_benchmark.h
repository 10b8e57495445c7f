#pragma once
// The embedding part alone: input dist, pooled lookup and output dist, then backward and update, with a fixed
// gradient in place of a tower.

#include <cstdint>
#include <functional>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/sharded/sharded_embedding_bag_collection.h"
#include "hotrow/trace/phase.h"
#include "hotrow/trace/phase_bytes.h"

namespace hotrow {

struct SparseBenchmarkConfig {
  std::int64_t num_features = 0;
  SyntheticConfig data;
  std::int64_t global_batch = 4096;
  std::int64_t reduction_units = 8;
  std::int64_t steps = 50;
  std::int64_t warmup = 10;
  /// Told, if there, how many steps are over, those of the warm-up included; outside the timed region.
  std::function<void(std::int64_t)> on_step = nullptr;
};

/// Times are of the slowest rank of each step.
struct SparseBenchmarkResult {
  std::vector<double> forward_seconds;   ///< [steps]
  std::vector<double> backward_seconds;  ///< [steps] backward and update
  PhaseTimes phases;                     ///< summed over the timed steps, the mean of the ranks
  PhaseBytes bytes;                      ///< summed over the timed steps and the ranks
};

/// Collective. Ids are new each step and made outside the timed region; gradients stand as a tower leaves
/// them, feature after feature. At least one feature, all of one embedding_dim.
SparseBenchmarkResult RunSparseBenchmark(const SparseBenchmarkConfig& config,
                                         ShardedEmbeddingBagCollection& embeddings, Communicator& comm,
                                         ThreadPool& pool);

/// Distinct rows that a step's ids name, tables' sum: those of the first step's, others differ little.
/// O(ids log ids) of the global batch.
std::int64_t CountTouchedRows(const SyntheticConfig& data, std::int64_t global_batch, ThreadPool& pool);

}  // namespace hotrow
