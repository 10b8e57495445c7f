#pragma once
// Generated batches as a rank of a benchmark takes them: its slice of each step's global batch, the same
// samples whatever the world.

#include <cstdint>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/data/batch.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

class RankBatches {
 public:
  RankBatches(const SyntheticConfig& data, std::int64_t global_batch, std::int64_t reduction_units,
              const Communicator& comm, ThreadPool& pool);

  /// This rank's slice of the global batch of step `step`, counted from 0.
  void Fill(std::int64_t step, Batch& batch) const;
  std::int64_t samples() const { return rank_samples_[rank_]; }  ///< of this rank
  std::int64_t longest() const { return longest_; }              ///< of the rank that has most
  std::int64_t first() const { return first_; }                  ///< its first sample in the global batch

 private:
  SyntheticSource source_;
  std::int64_t global_batch_;
  std::size_t rank_;
  std::int64_t first_ = 0;
  std::int64_t longest_ = 0;
  std::vector<std::int64_t> rank_samples_;
};

}  // namespace hotrow
