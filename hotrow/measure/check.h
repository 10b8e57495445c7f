#pragma once
// The engine against the naive double-precision reference (hotrow/reference/), on the ids that a benchmark is
// about to time.

#include <cstdint>

#include "hotrow/comm/communicator.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/measure/bench_config.h"

namespace hotrow {

struct CheckResult {
  std::int64_t samples = 0;
  /// Largest |engine - reference|, of logits, loss and pooled values as a part of 0.01 + |reference|, and of
  /// updated weights as a part of ten times the largest change of their tensor; less what rounding may do.
  double max_error = 0;
  bool ok = false;  ///< max_error <= 1e-4
};

/// Collective: three training steps on the first samples (at most 32: the reference is slow) of as many
/// batches: logits, loss, and every weight that a step touched, each step from the weights the engine had.
/// With the configuration's `pipeline` a step exchanges the next one's ids, as the timed steps do. Results
/// are rank 0's and given to all.
CheckResult CheckStep(const BenchConfig& config, Communicator& comm, ThreadPool& pool);

/// Collective: lookup, backward and update of the whole first batch (with more than one rank, of its first
/// 128 samples: rows of other ranks are read one by one): every pooled value and every touched row. Once with
/// the optimizer asked for and, to see the gradients' size too, once with SGD.
CheckResult CheckSparse(const BenchConfig& config, Communicator& comm, ThreadPool& pool);

}  // namespace hotrow
