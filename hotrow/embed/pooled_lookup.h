#pragma once
// The forward of a table: bags of ids to pooled rows.

#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/base/size.h"
#include "hotrow/embed/table.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

/// One feature's bags and where their pooled rows go: sample s to out[s * out_stride], as wide as the table.
/// Bags that lie in several segments are several FeatureLookups.
struct FeatureLookup {
  const EmbeddingTable* table = nullptr;
  FeatureBags bags;
  float* out = nullptr;
  std::int64_t out_stride = 0;  ///< floats
};

/// Pools the bags of all features on the pool's threads, no matter which thread takes what. A bag's rows are
/// added in the bag's order, starting from the first row's value, each times its weight (rounded) where there
/// are weights; MEAN multiplies the sum by the fp32 1 / n, n the ids that are not -1. An empty bag gives
/// zeros. Ids are in [-1, rows). Rows of a lazy table that were never trained are generated on the fly; no
/// table changes. Allocates nothing once it has seen its widest table and its pool.
class PooledLookup {
 public:
  void Run(std::span<const FeatureLookup> features, ThreadPool& pool);

 private:
  std::vector<std::int64_t> first_task_;  // [features + 1]
  std::vector<Buffer<float>> generated_;  // per thread: rows that are not resident
};

}  // namespace hotrow
