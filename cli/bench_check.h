#pragma once
// `bench --check`: the engine against the naive double-precision reference, on the ids that the bench is
// about to time.

#include <cstdint>

#include "hotrow/base/thread_pool.h"
#include "hotrow/comm/communicator.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/train/trainer.h"

namespace hotrow::cli {

struct CheckResult {
  std::int64_t samples = 0;
  double max_error = 0;  ///< largest |engine - reference| / (1e-6 + |reference| + what rounding may do to it)
  bool ok = false;       ///< max_error <= 1e-4
};

/// Collective: three training steps on the first samples (at most 32: the reference is slow) of as many
/// batches: logits, loss, and every weight that a step touched, each step from the weights the engine had.
/// Results are rank 0's and given to all.
CheckResult CheckStep(const TrainerConfig& config, const SyntheticConfig& data, std::int64_t global_batch,
                      Communicator& comm, ThreadPool& pool);

/// Collective: lookup, backward and update of the whole first batch (with more than one rank, of its first
/// 128 samples: rows of other ranks are read one by one): every pooled value and every touched row.
CheckResult CheckSparse(const TrainerConfig& config, const SyntheticConfig& data, std::int64_t global_batch,
                        Communicator& comm, ThreadPool& pool);

}  // namespace hotrow::cli
