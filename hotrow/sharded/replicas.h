#pragma once
// The backward of data_parallel tables: each rank sums the rows that its own samples touch, ranks exchange
// these sums, and every replica is updated by the same bits, the ranks' sums combined as the top of the tree
// of reduction units.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/comm/peer_lists.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/embed/fused_backward.h"
#include "hotrow/embed/touched_rows.h"
#include "hotrow/embed/unfused_backward.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

class Replicas {
 public:
  Replicas(Communicator& comm, ThreadPool& pool) : comm_(comm), pool_(pool), sums_(comm) {}

  /// Collective. `tables`: each replica with this rank's own bags and gradients, one segment; the same tables
  /// in the same order on every rank and in every call. `units`: of the global batch, a multiple of the
  /// ranks.
  void Update(std::span<const BagGradients> tables, BackwardKernel kernel, std::int64_t units,
              OptimizerStep step);

  /// Bytes of sums that went to other ranks so far.
  std::int64_t sent_bytes() const { return sent_bytes_; }

 private:
  Communicator& comm_;
  ThreadPool& pool_;
  std::int64_t sent_bytes_ = 0;
  TouchedRowSum sum_;
  std::vector<TouchedRows> touched_;               // of each table, on this rank
  std::vector<std::span<const std::byte>> lists_;  // for each table: those rows, and their gradients
  PeerLists sums_;
  FusedBackward fused_;
  UnfusedBackward unfused_;
  std::vector<BagGradients> top_;
};

}  // namespace hotrow
