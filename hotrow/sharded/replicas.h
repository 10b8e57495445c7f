#pragma once
// The backward of data_parallel tables: each rank sums the rows that its own samples touch, ranks exchange
// these sums, and every replica is updated by the same bits, the ranks' sums combined as the top of the tree
// of reduction units.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/comm/share.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/embed/fused_backward.h"
#include "hotrow/embed/touched_rows.h"
#include "hotrow/embed/unfused_backward.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

class Replicas {
 public:
  Replicas(Communicator& comm, ThreadPool& pool) : comm_(comm), pool_(pool) {}

  /// Collective. `tables`: each replica with this rank's own bags and gradients, one segment; the same tables
  /// in the same order on every rank and in every call. `units`: of the global batch, a multiple of the
  /// ranks.
  void Update(std::span<const BagGradients> tables, BackwardKernel kernel, std::int64_t units,
              OptimizerStep step);

  /// Bytes of sums that went to other ranks so far.
  std::int64_t sent_bytes() const { return sent_bytes_; }

 private:
  /// One rank's touched rows of one table, [count] and [count, dim].
  struct Sums {
    const std::int64_t* rows = nullptr;
    const float* gradients = nullptr;
    std::int64_t count = 0;
  };

  void Gather(std::span<const BagGradients> tables);

  Communicator& comm_;
  ThreadPool& pool_;
  std::int64_t sent_bytes_ = 0;
  TouchedRowSum sum_;
  std::vector<TouchedRows> touched_;  // of each table, on this rank
  std::vector<Sums> own_;             // the same, to be shared
  std::vector<std::span<const Sums>> of_rank_;
  FusedBackward fused_;
  UnfusedBackward unfused_;
  std::vector<BagGradients> top_;

  // Where ranks do not share memory.
  std::vector<Sums> gathered_;  // [ranks, tables]
  Buffer<std::int64_t> rows_;
  Buffer<float> gradients_;
};

}  // namespace hotrow
