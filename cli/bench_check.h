#pragma once
// `bench --check`: the engine against the naive double-precision reference, on the ids that the bench is
// about to time.

#include <cstdint>

#include "hotrow/base/thread_pool.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/train/trainer.h"

namespace hotrow::cli {

struct CheckResult {
  std::int64_t samples = 0;
  double max_error = 0;  ///< largest |engine - reference| / (1e-6 + |reference| + what rounding may do to it)
  bool ok = false;       ///< max_error <= 1e-4
};

/// One training step on the first samples (at most 32: the reference is slow) of the first batch: logits,
/// loss, and every weight that the step touched.
CheckResult CheckStep(const TrainerConfig& config, const SyntheticConfig& data, std::int64_t batch_size,
                      ThreadPool& pool);

/// Lookup, backward and update of the whole first batch: every pooled value and every touched row.
CheckResult CheckSparse(const TrainerConfig& config, const SyntheticConfig& data, std::int64_t batch_size,
                        ThreadPool& pool);

}  // namespace hotrow::cli
