#pragma once
// The sharded tables against one rank that holds everything, as functions that all ranks of a world run
// together: thread ranks under GoogleTest, MPI ranks in a program of their own. A failed requirement throws.

#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/sharded/sharded_embedding_bag_collection.h"
#include "tests/support/uneven_plans.h"

namespace hotrow::sharded_test {

/// How a world trains; the same on every rank.
struct Case {
  PlanOf plan = PlanOf::kTableWise;
  OptimizerKind optimizer = OptimizerKind::kAdagrad;
  WeightDecayMode decay = WeightDecayMode::kNone;
  BackwardKernel kernel = BackwardKernel::kFused;
  StorageKind storage = StorageKind::kEager;
  DistOptions dist;
  bool fixed = false;  ///< sizes of bags
  bool weighted = false;
  bool pipelined = false;   ///< the next batch's ids travel during this step
  bool say_samples = true;  ///< ranks know each other's batch sizes
  int threads = 1;          ///< of rank 0; ranks of odd numbers have one more
  /// Samples of each rank, cyclic; empty: the global batch of 37 samples, cut by reduction units.
  std::vector<std::int64_t> samples;

  std::string Name() const;
};

/// Trains a few steps on the ranks and on one; requires equal pooled rows, weights and state: equal bits
/// where they are promised, else close ones after SGD. Returns the weights' hash.
std::uint64_t RunCase(const Case& c, Communicator& comm);

/// Plan by plan: every optimizer and kernel, the other choices in turn.
std::vector<Case> Matrix();
/// Every recat engine, bag kind, permute and id width.
std::vector<Case> Routes();
/// Batches of other sizes on each rank, of none, and of none anywhere; plans without replicas, whose units
/// follow the ranks there.
std::vector<Case> UnequalBatches();
/// Ids enough that the backward's sort would cut them otherwise on other numbers of threads; for few ranks.
Case LargeBatch();

}  // namespace hotrow::sharded_test
