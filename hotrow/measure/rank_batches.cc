#include "hotrow/measure/rank_batches.h"

#include <algorithm>

#include "hotrow/plan/units_of_ranks.h"

namespace hotrow {

RankBatches::RankBatches(const SyntheticConfig& data, std::int64_t global_batch, std::int64_t reduction_units,
                         const Communicator& comm, ThreadPool& pool)
    : source_(data, &pool), global_batch_(global_batch), rank_(static_cast<std::size_t>(comm.rank())) {
  for (int r = 0; r < comm.size(); ++r)
    rank_samples_.push_back(SamplesOfRank(global_batch, reduction_units, comm.size(), r).size());
  longest_ = *std::max_element(rank_samples_.begin(), rank_samples_.end());
  first_ = SamplesOfRank(global_batch, reduction_units, comm.size(), comm.rank()).begin;
}

void RankBatches::Fill(std::int64_t step, Batch& batch) const {
  source_.Fill(step, step * global_batch_ + first_, samples(), batch);
  batch.rank_samples = rank_samples_;
}

}  // namespace hotrow
