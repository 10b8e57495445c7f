#pragma once
// Row-wise Adagrad under a column split: one accumulator a row, however many shards its columns are in.
//
// Shards of the same rows and other columns got the same ids and so touch the same rows in the same order.
// Each sums its columns' gradients, gives the others the sums of squares of its 4-column groups, and updates
// with the mean over the full row. So every shard keeps the same accumulator.

#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/embed/backward_scratch.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/embed/touched_rows.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/plan/sharding_plan.h"

namespace hotrow {

class ColumnPeers {
 public:
  ColumnPeers(Communicator& comm, ThreadPool& pool) : comm_(comm), pool_(pool) {}

  /// Collective. Updates this rank's shards of one table, none on some ranks; `shards` ascend by first_column
  /// as `table` has them, and all have the same rows. Keeps the gradients of one table in memory at a time.
  void Update(const TablePlan& table, std::span<const BagGradients> shards, BackwardKernel kernel,
              std::int64_t units, OptimizerStep step);

  /// Bytes of sums that went to other ranks so far.
  std::int64_t sent_bytes() const { return sent_bytes_; }

 private:
  /// A shard of the same rows, on some rank.
  struct Peer {
    std::int64_t rank = 0;
    std::int64_t first_group = 0;
    std::int64_t groups = 0;
    const float* sums = nullptr;  ///< [touched rows, groups]
  };

  void FindPeers(const TablePlan& table, std::span<const BagGradients> shards);
  void SumShard(const BagGradients& shard, BackwardKernel kernel, std::int64_t units, TouchedRows& out);
  void Exchange(std::int64_t rows);
  void MeanOverPeers(const TablePlan& table, std::int64_t rows);

  Communicator& comm_;
  ThreadPool& pool_;
  std::int64_t sent_bytes_ = 0;
  TouchedRowSum sum_;
  BackwardScratch scratch_;
  std::vector<TouchedRows> touched_;  // a shard each
  TouchedRows sparse_;                // what a dense gradient is made from
  std::vector<Peer> peers_;           // by first_group
  Buffer<float> own_sums_;
  Buffer<float> received_;
  Buffer<float> mean_squares_;
};

}  // namespace hotrow
